from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from truelabel.data import text_table
from truelabel.frames import TableError, write_table


def test_texts_stay_as_they_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('id,text\n001,"two\nlines, and a comma"\n002,007\n003,NA\n004,1.50\n005,true\n')
    read = text_table(tmp_path / "x.csv", "text", id="id")
    assert read.texts == ["two\nlines, and a comma", "007", "NA", "1.50", "true"]
    assert read.ids == ("001", "002", "003", "004", "005")
    write_table(pa.table({"text": ["NA", "b"]}), tmp_path / "x.parquet")
    assert text_table(tmp_path / "x.parquet", "text").texts == ["NA", "b"]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_texts_of_any_data_frame(make: Any) -> None:
    read = text_table(make({"n": [5, 3], "text": ["a", "b"]}), "text", id="n")
    assert (read.texts, read.ids) == (["a", "b"], (5, 3))
    assert text_table(make({"text": ["a", "b"]}), "text").ids == (0, 1)


def test_categories_and_numbers_are_texts_too() -> None:
    assert text_table(pd.DataFrame({"t": pd.Categorical(["x", "y", "x"])}), "t").texts == ["x", "y", "x"]
    assert text_table({"t": [1, 2]}, "t").texts == ["1", "2"]
    with pytest.raises(TableError, match="column 't' of the table is list<item: int64>, not text"):
        text_table({"t": [[1], [2]]}, "t")


def test_rows_of_one_name_are_one_example() -> None:
    rows = {"task": ["b", "a", "b"], "text": ["one", "two", "one"]}
    read = text_table(rows, "text", id="task")
    assert (read.texts, read.ids) == (["one", "two"], ("b", "a"))
    assert text_table(rows, "text", id="text").ids == ("one", "two")
    with pytest.raises(TableError, match="example 'b' has two texts, in rows 1 and 3: name a column with id="):
        text_table({**rows, "text": ["one", "two", "three"]}, "text", id="task")


def test_what_is_missing() -> None:
    with pytest.warns(
        UserWarning, match="column 't' of the table has no text for example 1 and 1 more: read as no words"
    ):
        assert text_table({"t": ["a", None, " "]}, "t").texts == ["a", "", " "]
    with pytest.raises(TableError, match="id column 'i' has no value in row 2"):
        text_table({"t": ["a", "b"], "i": ["x", None]}, "t", id="i")
    with pytest.raises(TableError, match="text names 'u', which is not there: choose from t"):
        text_table({"t": ["a"]}, "u")
    with pytest.raises(TableError, match="id names 'u', which is not there: choose from t"):
        text_table({"t": ["a"]}, "t", id="u")
    with pytest.raises(TableError, match="the table has no rows"):
        text_table(pl.DataFrame({"t": []}, schema={"t": pl.String}), "t")


def test_a_file_larger_than_memory_is_not_attempted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "x.csv").write_text("text\nabc\n")
    monkeypatch.setattr("truelabel.data.memory._free", lambda: 10)
    with pytest.raises(TableError, match="x.csv takes 0.0 GB of memory"):
        text_table(tmp_path / "x.csv", "text")
