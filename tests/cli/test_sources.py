"""From the files that a user names to inputs and annotations."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.cli.sources import LabelColumns, Reading, parse_list, parse_size, read_pair
from truelabel.frames import Table


@pytest.mark.parametrize(
    ("text", "size"), [(None, None), ("64", (64, 64)), ("48x64", (48, 64)), ("48X64", (48, 64)), ("1", (1, 1))]
)
def test_sizes(text: str | None, size: tuple[int, int] | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "x", "0", "-3", "3x", "x3", "3x4x5", "3.5", "3 x 4", "²"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="--size must be like 64 or 48x64, got"):
        parse_size(text)


def test_lists() -> None:
    assert parse_list(None) is None
    assert parse_list("a") == ["a"]
    assert parse_list(" a, b c ,d,") == ["a", "b c", "d"]


@pytest.mark.parametrize(
    "reading",
    [
        Reading(),
        Reading(columns=["a", "ü"], drop=("c",), id_column="task", categories={}),
        Reading(columns=["a", "b"], fill={"a": 0.1}, categories={"b": ["x", "ü"]}),
        Reading(size=(3, 4), grey=True),
    ],
)
def test_how_inputs_are_read_is_kept(reading: Reading, tmp_path: Path) -> None:
    reading.save(tmp_path / "run")
    assert Reading.load(tmp_path / "run") == reading
    assert Reading.load(tmp_path / "no run") == Reading()


def test_rows_are_matched_by_name_in_the_order_of_the_inputs(shelf: Path) -> None:
    inputs, annotations = read_pair(shelf / "x.csv", shelf / "labels.csv", Reading(), LabelColumns())
    names = Table(shelf / "x.csv").column("task").to_pylist()
    assert inputs.names == annotations.examples.tolist() == names
    assert inputs.reading == Reading(columns=["east", "north"], id_column="task", categories={})
    truth = np.array([int(name[1:]) % 2 for name in names])
    assert annotations.annotators.tolist() == ["ann", "bob", "cid"]
    assert np.array_equal(annotations.matrix()[:, 0], truth)
    # The clouds are three apart: the inputs are those of the names.
    assert np.mean((inputs.values.mean(-1) > 1.5) == truth) > 0.9


def test_new_data_are_read_alike(shelf: Path) -> None:
    columns = {"reading": Reading(columns=["north"], id_column="task", categories={})}
    inputs = columns["reading"].inputs(shelf / "x.parquet")
    assert inputs.values.shape == (60, 1)
    assert inputs.reading == columns["reading"]
    assert inputs.reading.inputs(shelf / "x.csv").names == inputs.names


def test_rows_without_a_name_are_numbered(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3,4\n5,6\n")
    (tmp_path / "labels.csv").write_text("task,label\n2,x\n0,y\n1,x\n")
    inputs, annotations = read_pair(tmp_path / "x.csv", tmp_path / "labels.csv", Reading(), LabelColumns())
    assert inputs.names == [0, 1, 2]
    assert [annotations.classes[k] for k in annotations.label] == ["y", "x", "x"]
    arrays, given = read_pair(shelf / "x.npy", shelf / "labels.npy", Reading(), LabelColumns())
    assert arrays.names == given.examples.tolist() == list(range(60))


def test_pictures_are_those_that_the_labels_name(shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("image,label\ndeep/03.png,bright\n02.png,dark\n")
    inputs, annotations = read_pair(shelf / "pictures", tmp_path / "labels.csv", Reading(), LabelColumns())
    assert inputs.names == annotations.examples.tolist() == ["02.png", "deep/03.png"]
    assert inputs.values.shape == (2, 3, 10, 12)
    assert inputs.values[0].mean() < 90 < 160 < inputs.values[1].mean()
    assert inputs.reading == Reading(size=(10, 12))


def test_columns_may_have_any_name(tmp_path: Path) -> None:
    (tmp_path / "odd.csv").write_text("who,what,says\nann,1,b\nbob,1,a\nann,2,b\n")
    columns = LabelColumns(example="what", annotator="who", label="says", classes=["b", "a"])
    annotations = columns.annotations(tmp_path / "odd.csv")
    assert annotations.matrix().tolist() == [[0, 1], [0, -1]]


def test_classes_of_a_matrix_may_be_named_by_their_numbers(shelf: Path) -> None:
    annotations = LabelColumns(classes=["1", "0", "2"]).annotations(shelf / "labels.npy")
    assert annotations.matrix()[:2, 0].tolist() == [1, 0]


def test_rows_are_matched_by_a_column_that_looks_like_a_name(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("id,size\n002,5\n001,4\n003,6\n")
    (tmp_path / "labels.csv").write_text("example,worker,label\n001,a,x\n002,a,y\n003,a,x\n")
    inputs, annotations = read_pair(tmp_path / "x.csv", tmp_path / "labels.csv", Reading(), LabelColumns())
    assert inputs.names == ["002", "001", "003"]
    assert inputs.reading.columns == ["size"]
    assert annotations.matrix().ravel().tolist() == [1, 0, 0]
