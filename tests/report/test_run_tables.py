"""Tables of people, confusion and training."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from truelabel.report.run_tables import Person, read_confusion, read_curves, read_people
from truelabel.training import RunFolderError


def test_people_by_either_name(tmp_path: Path) -> None:
    file = tmp_path / "annotators.csv"
    file.write_text("annotator,labels,skill,skill_low,skill_high\n007,3,0.5,0.25,0.75\nNA,0,0.1,,nan\n")
    assert read_people(file) == [Person("007", 3, 0.5, 0.25, 0.75), Person("NA", 0, 0.1, None, None)]
    file.write_text("reader,images,skill,dice\nann,8,0.9,0.8\n")
    assert read_people(file) == [Person("ann", 8, 0.9, None, None)]


def test_cells_are_placed_by_name_in_any_order(tmp_path: Path) -> None:
    file = tmp_path / "confusion.csv"
    file.write_text("annotator,true,observed,probability\nb,y,x,0.25\na,x,x,1\n")
    found = read_confusion(file, ["a", "b"], ["x", "y"])
    expected = np.full((2, 2, 2), np.nan)
    expected[1, 1, 0], expected[0, 0, 0] = 0.25, 1
    np.testing.assert_array_equal(found, expected)


def test_every_stage_has_its_rows(tmp_path: Path) -> None:
    for stage, text in (("2-weights", "train_loss,valid_loss\n1,\n0.5,2\n"), ("1-heads", "train_loss\n3\n")):
        (tmp_path / stage).mkdir()
        (tmp_path / stage / "metrics.csv").write_text(text)
    found = read_curves(tmp_path)
    assert list(found) == ["1-heads", "2-weights"]
    assert found["1-heads"] == [{"train_loss": 3.0}]
    assert np.isnan(found["2-weights"][0]["valid_loss"])
    assert found["2-weights"][1] == {"train_loss": 0.5, "valid_loss": 2.0}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("annotators.csv", "who,labels\na,1\n"),
        ("annotators.csv", "annotator,labels,skill\na,many,0.5\n"),
        ("confusion.csv", "annotator,true,observed,probability\nnobody,x,x,1\n"),
        ("confusion.csv", "annotator,true,observed\na,x,x\n"),
        ("main/metrics.csv", "train_loss\nlow\n"),
    ],
)
def test_damage_is_named_in_one_line(name: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    read: dict[str, Callable[[], object]] = {
        "annotators.csv": lambda: read_people(file),
        "confusion.csv": lambda: read_confusion(file, ["a"], ["x"]),
        "metrics.csv": lambda: read_curves(tmp_path),
    }
    with pytest.raises(RunFolderError, match=file.name) as raised:
        read[file.name]()
    assert "\n" not in str(raised.value)
