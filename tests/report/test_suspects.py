"""The labels to look at first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from truelabel.report import read_run
from truelabel.report.label_rows import LabelRows
from truelabel.report.suspects import count_suspects, find_suspects


def test_the_least_probable_come_first_with_what_others_said(trained: Path) -> None:
    rows = LabelRows(
        np.array(["p", "p", "q", "q", "r"], object),
        np.array(["a", "b", "a", "b", "a"], object),
        np.array(["x", "y", "x", "x", "x"], object),
        np.array([0.3, 0.7, 0.1, 0.1, np.nan]),
        np.array(["y", "y", "y", "y", "y"], object),
        np.array([0.7, 0.7, 0.9, 0.9, np.nan]),
    )
    run = replace(read_run(trained), labels=rows)
    found = find_suspects(run, 10)
    assert [(s.example, s.annotator) for s in found] == [("q", "a"), ("q", "b"), ("p", "a")]
    assert count_suspects(run) == 3
    assert found[0].others == [("b", "x")]
    assert found[2].others == [("b", "y")]
    assert (found[2].suggested, found[2].suggested_probability, found[2].region) == ("y", 0.7, None)
    assert len(find_suspects(run, 1)) == 1
    assert find_suspects(run, 0) == []


def test_a_run_without_probabilities_has_none(trained: Path) -> None:
    run = replace(read_run(trained), labels=None)
    assert (find_suspects(run, 5), count_suspects(run)) == ([], None)


def test_every_region_that_is_listed_is_shown(masks_trained: Path) -> None:
    first, second = find_suspects(read_run(masks_trained), 5)
    assert (first.example, first.region, first.others) == ("p1", "1", [])
    assert first.place == {"pixels": 30, "top": 4, "left": 3, "bottom": 12, "right": 9}
    assert (second.annotator, second.suggested) == ("ann", "0")
