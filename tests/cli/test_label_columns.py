from __future__ import annotations

from pathlib import Path

import pytest

from truelabel.cli.label_columns import LabelColumns, same_file


def test_to_name_annotators_says_that_the_table_is_wide() -> None:
    assert LabelColumns.parse(None, None, None, "a,b", False, "ann, bob") == LabelColumns(
        classes=["a", "b"], wide=True, annotators=["ann", "bob"]
    )
    assert LabelColumns.parse("task", "who", "says", None) == LabelColumns("task", "who", "says")
    assert LabelColumns.parse(None, None, None, None, True).wide


def test_wide_and_long_tables_say_the_same(shelf: Path) -> None:
    long = LabelColumns().annotations(shelf / "labels.csv")
    for columns in (LabelColumns(wide=True), LabelColumns(wide=True, annotators=["ann", "bob", "cid"])):
        wide = columns.annotations(shelf / "wide.csv")
        assert wide.to_table().equals(long.to_table())
    assert LabelColumns(wide=True).named(shelf / "wide.csv") == {"example": "task"}
    assert LabelColumns().named(shelf / "labels.csv") == {"example": "task", "annotator": "worker", "label": "label"}


def test_labels_beside_texts(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text,worker,label\na,ann,1\n")
    assert LabelColumns().beside_inputs(path, "text") == LabelColumns(example="text")
    assert LabelColumns(example="worker").beside_inputs(path, "text").example == "worker"
    assert LabelColumns().beside_inputs(path, None) == LabelColumns()
    path.write_text("task,text,ann,bob\n7,a,1,1\n")
    assert LabelColumns().beside_inputs(path, "text") == LabelColumns()
    assert LabelColumns(wide=True).beside_inputs(path, "text").annotators == ["ann", "bob"]
    with pytest.raises(ValueError, match="name the columns of the annotators with --annotators: the others of .*t.csv"):
        LabelColumns(wide=True).beside_inputs(path, None)


def test_one_file_under_two_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x\n")
    (tmp_path / "deep").mkdir()
    assert same_file(tmp_path / "a.csv", tmp_path / "deep" / ".." / "a.csv")
    assert not same_file(tmp_path / "a.csv", tmp_path / "b.csv")
