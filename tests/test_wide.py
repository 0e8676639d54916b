"""Labels from wide tables, against the long table and the matrix of the same labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel import Annotations
from truelabel.coding import LabelError
from truelabel.frames import Table, TableError
from truelabel.wide import read_wide, wide_columns

cells = st.lists(st.lists(st.sampled_from([None, "cat", "dog", "eel"]), min_size=3, max_size=3), min_size=1, max_size=9)


@given(cells)
def test_a_wide_table_says_what_the_matrix_says(rows: list[list[str | None]]) -> None:
    columns: dict[str, list[Any]] = {name: [row[r] for row in rows] for r, name in enumerate(("ann", "bob", "cid"))}
    wide = Annotations.from_table({"task": list(range(len(rows))), **columns}, wide=True)
    matrix = Annotations.from_matrix(rows, annotators=["ann", "bob", "cid"])
    assert np.array_equal(wide.matrix(), matrix.matrix())
    assert wide.annotators.tolist() == ["ann", "bob", "cid"]
    assert wide.examples.tolist() == matrix.examples.tolist()
    assert wide.classes == matrix.classes


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_whole_numbers_and_minus_one(make: Any) -> None:
    table = make({"image": ["b", "a"], "ann": [1, -1], "bob": [None, 2]})
    annotations = Annotations.from_table(table, wide=True)
    assert annotations.examples.tolist() == ["a", "b"]
    assert annotations.classes == (1, 2)
    assert annotations.matrix().tolist() == [[-1, 1], [0, -1]]


def test_columns_of_different_types_are_text(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("id,ann,bob,eve\nx,1,yes,\ny,2,1,\nz,01,NA,\n")
    annotations = Annotations.from_table(tmp_path / "w.csv", wide=True)
    assert annotations.classes == ("01", "1", "2", "yes")
    assert annotations.workload.tolist() == [3, 2, 0]
    (tmp_path / "b.csv").write_text("id,ann,bob\nx,true,false\ny,false,\n")
    assert Annotations.from_table(tmp_path / "b.csv", wide=True).classes == (False, True)


def test_the_columns_may_be_chosen() -> None:
    table = {"who": ["x", "y"], "ann": [0, 1], "age": [30, 40], "bob": [1, 1]}
    annotations = Annotations.from_table(table, example="who", annotators=["bob", "ann"], wide=True)
    assert annotations.annotators.tolist() == ["bob", "ann"]
    assert annotations.matrix().tolist() == [[1, 0], [1, 1]]
    assert wide_columns(Table(table), None, ["ann"]) == (None, ["ann"])


def test_examples_may_be_given_in_order() -> None:
    table = {"id": ["x", "y"], "ann": [0, 1]}
    annotations = Annotations.from_table(table, wide=True, examples=["z", "y", "x"], classes=3)
    assert annotations.matrix().tolist() == [[-1], [1], [0]]
    assert annotations.classes == (0, 1, 2)
    numbered = Annotations.from_table({"ann": [0, 1]}, wide=True, examples=["p", "q"])
    assert numbered.examples.tolist() == ["p", "q"]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ({"id": ["x"], "ann": [0]}, {"annotators": ["eve"]}, "has no column 'eve': it has id, ann"),
        ({"id": ["x"], "ann": [0]}, {"example": "eve"}, "has no column 'eve': it has id, ann"),
        ({"id": ["x"]}, {}, "has no column of an annotator: it has id"),
        (
            {"id": ["x"], "ann": [0]},
            {"example": "id", "annotators": ["id"]},
            "column 'id' of the table names",
        ),
        ({"id": ["x", "x"], "ann": [0, 1]}, {}, "example 'x' is in two rows of the table"),
        ({"id": ["x", None], "ann": [0, 1]}, {}, "row 2 of the table has no example in column 'id'"),
        ({"ann": [0, 1]}, {"examples": ["x"]}, "has 2 rows, but there are 1 examples: pass example="),
        (
            {"id": ["x", "y"], "ann": [0, 1], "bob": [0, 7]},
            {"classes": 3},
            "label 7 in row 2 of the table is outside",
        ),
        ({"id": ["x"], "ann": [0.5]}, {}, "holds fractional or infinite numbers"),
        ({"id": pa.array([], pa.string()), "ann": pa.array([], pa.int64())}, {}, "has no rows"),
    ],
)
def test_what_is_wrong_is_named(table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises((TableError, LabelError), match=message):
        read_wide(Table(table), **options)


def test_a_wide_table_has_no_columns_of_a_long_one() -> None:
    table = {"id": ["x"], "ann": [0], "bob": [1]}
    with pytest.raises(LabelError, match="leave annotator= and label= out"):
        Annotations.from_table(table, label="ann", wide=True)
    with pytest.raises(TableError, match="like the label: pass label= one of id, ann, bob; or wide=True, if each"):
        Annotations.from_table(table)


def test_rows_are_not_joined_by_position_where_another_column_may_name_them() -> None:
    table = {"patient": [f"p{n}" for n in range(12)], "ann": [0, 1] * 6}
    with pytest.raises(
        ValueError, match="nothing says which row of the table is about which: pass example= one of patient"
    ):
        Annotations.from_table(table, wide=True, annotators=["ann"], examples=[f"p{n}" for n in range(12)][::-1])
    with pytest.raises(ValueError, match="column 'patient' of the table has another value in every row"):
        Annotations.from_table(table, wide=True)
    named = Annotations.from_table(table, wide=True, example="patient", examples=[f"p{n}" for n in range(12)][::-1])
    assert named.matrix()[:, 0].tolist() == [1, 0] * 6
