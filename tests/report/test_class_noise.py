"""Which classes are wrong."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from truelabel.report import RunFolder, read_run
from truelabel.report.class_noise import class_noise, unidentified
from truelabel.report.label_rows import LabelRows
from truelabel.report.run_tables import Person


@pytest.fixture
def two(trained: Path) -> RunFolder:
    """Two classes, two people: one labels three times as much as the other, who swaps the classes half of the time."""
    rows = LabelRows(
        np.array(["0", "1", "2", "3"], object),
        np.array(["a"] * 4, object),
        np.array(["x", "x", "x", "y"], object),
        np.array([0.9, 0.2, 0.1, 1.0]),
        np.array(["x", "y", "y", "y"], object),
        np.array([0.9, 0.8, 0.9, 1.0]),
    )
    people = [Person("a", 30, 1.0, None, None), Person("b", 10, 0.5, None, None)]
    confusion = np.stack([np.eye(2), np.full((2, 2), 0.5)])
    return replace(read_run(trained), classes=["y", "x"], people=people, confusion=confusion, labels=rows)


def test_shares_by_hand(two: RunFolder) -> None:
    worst, best = class_noise(two)
    assert (worst.name, worst.labels, worst.really) == ("x", 3, ("y", 2))
    assert worst.wrong == pytest.approx(1 - 1.2 / 3)
    assert worst.mistaken == pytest.approx(0.125)  # half of a quarter
    assert worst.called is not None
    assert worst.called[0] == "y"
    assert worst.called[1] == pytest.approx(0.125)
    assert (best.name, best.wrong, best.really) == ("y", 0.0, None)


def test_what_is_unknown_is_none(two: RunFolder) -> None:
    row = class_noise(replace(two, confusion=None, labels=None))[0]
    assert tuple(row)[1:] == (None, None, None, None, None)
    assert two.labels is not None
    bare = class_noise(replace(two, labels=replace(two.labels, suggested=None)))
    assert [entry.really for entry in bare] == [None, None]
    assert class_noise(replace(two, kind="masks"))[0].labels is None


def test_identifiability_weighs_people_by_their_labels(two: RunFolder) -> None:
    swap = np.stack([np.eye(2), np.eye(2)[::-1]])
    assert unidentified(replace(two, confusion=swap)) == []
    busy = [two.people[0], two.people[1]._replace(labels=90)]
    assert unidentified(replace(two, people=busy, confusion=swap)) == ["y", "x"]
    assert unidentified(replace(two, confusion=None)) == []
    assert unidentified(replace(two, confusion=np.full((2, 2, 2), np.nan))) == []
