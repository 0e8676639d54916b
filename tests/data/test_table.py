from __future__ import annotations

import decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from truelabel.data import feature_table, read_frame

CONTENT: dict[str, list[Any]] = {"task": [3, 4], "worker": ["ann", "bob"], "score": [0.5, None]}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_files_of_each_kind_agree(tmp_path: Path) -> None:
    parquet.write_table(pa.table(CONTENT), tmp_path / "a.parquet")
    paths = [
        written(tmp_path, "a.csv", "task,worker,score\n3,ann,0.5\n4,bob,\n"),
        written(tmp_path, "a.tsv", "task\tworker\tscore\r\n3\tann\t0.5\r\n4\tbob\tNA\r\n"),
        written(tmp_path, "bom.CSV", b"\xef\xbb\xbftask,worker,score\n3,ann,0.5\n4,bob,NaN\n"),
        tmp_path / "a.parquet",
    ]
    for path in paths:
        assert read_frame(path).to_dict(as_series=False) == CONTENT
    assert read_frame(str(paths[0])).shape == (2, 3)


def test_cells_may_hold_delimiters_and_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "a.csv", 'text,label\n"one, ""two""\nthree",x\n,\n')
    assert read_frame(path).to_dict(as_series=False) == {"text": ['one, "two"\nthree', None], "label": ["x", None]}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table])
def test_any_data_frame(make: Any) -> None:
    frame = read_frame(make({"a": [1, 2], "b": ["x", "y"]}))
    assert frame.to_dict(as_series=False) == {"a": [1, 2], "b": ["x", "y"]}
    assert read_frame(frame).columns == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", "x", "ends in '.xlsx': pass .csv"),
        ("a", "x", "ends in 'nothing'"),
        ("a.csv", "", "has no rows"),
        ("a.csv", "a,b\n", "has no rows"),
        ("a.csv", "a,b\n1\n", "cannot be read"),
        ("a.csv", "a,a\n1,2\n", "two columns of one name"),
        ("a.csv", b"a\n\xe9t\xe9\n", "column 'a' of .* is not UTF-8"),
        ("a.csv", b"\xe9\n1\n", "cannot be read"),
        ("a.parquet", "no parquet", "cannot be read"),
        ("a.parquet", "", "has no rows"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(ValueError, match=message) as caught:
        read_frame(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_wrong_sources() -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_frame("none.csv")
    with pytest.raises(TypeError, match="source is a list: pass a path"):
        read_frame([1, 2])
    with pytest.raises(ValueError, match="the DataFrame has no rows"):
        read_frame(pl.DataFrame({"a": []}))
    with pytest.raises(ValueError, match="has no rows"):
        read_frame(pd.DataFrame())
    with pytest.raises(ValueError, match="two columns of one name"):
        read_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))


FRAME = pl.DataFrame(
    {
        "name": ["x", "y"],
        "whole": [1, -2],
        "real": [0.25, 4.0],
        "yes": [True, False],
        "exact": [decimal.Decimal("1.5"), decimal.Decimal(2)],
    }
)


@pytest.mark.parametrize("frame", [FRAME, FRAME.to_pandas(), FRAME.to_arrow()])
def test_features_from_each_kind_of_number(frame: Any) -> None:
    drop = ["exact"] if isinstance(frame, pd.DataFrame) else []  # pandas holds decimals as objects
    features = feature_table(frame, id="name", drop=drop)
    expected = np.array([[1, 0.25, 1, 1.5], [-2, 4, 0, 2]], np.float32)[:, : 4 - len(drop)]
    assert features.inputs.dtype == np.float32
    np.testing.assert_array_equal(features.inputs, expected)
    assert features.columns == ("whole", "real", "yes", "exact")[: 4 - len(drop)]
    assert features.ids == ("x", "y")


def test_columns_choose_the_order() -> None:
    features = feature_table(FRAME, columns=["yes", "whole"])
    assert features.columns == ("yes", "whole")
    assert features.inputs.tolist() == [[1, 1], [0, -2]]
    assert features.ids == (0, 1)


def test_pandas_columns_may_be_numbers() -> None:
    frame = pd.DataFrame(np.arange(6, dtype=np.float64).reshape(2, 3))
    features = feature_table(frame)
    assert features.columns == ("0", "1", "2")
    assert features.inputs.tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(ValueError, match="choose from 0, 1, 2"):
        feature_table(frame, drop=["0"])


@pytest.mark.parametrize("argument", ["columns", "drop", "id"])
def test_a_wrong_column_names_those_there_are(argument: str) -> None:
    wrong: Any = "wide" if argument == "id" else ["wide"]
    message = f"{argument} names 'wide', which is not there: choose from name, whole, real, yes, exact"
    with pytest.raises(ValueError, match=message):
        feature_table(FRAME, **{argument: wrong})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": ["x", "y"]}, "column 'a' is String, not numeric: leave it out with drop="),
        ({"a": [1.0, None]}, "column 'a' has no value in row 1"),
        ({"a": [1, None]}, "column 'a' has no value in row 1"),
        ({"a": [True, None]}, "column 'a' has no value in row 1"),
        ({"b": [0.0, 1.0], "a": [float("inf"), 1.0]}, "column 'a' has inf in row 0"),
        ({"a": [1.0, 1e39]}, r"column 'a' has 1e\+39 in row 1"),
    ],
)
@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_a_wrong_value_is_named(make: Any, content: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        feature_table(make(content))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_nan_is_named(make: Any) -> None:
    with pytest.raises(ValueError, match="column 'a' has (no value|nan) in row 1"):
        feature_table(make({"a": [1.0, float("nan")]}))


def test_other_wrong_arguments() -> None:
    with pytest.raises(TypeError, match=r"drop is the text 'name': pass a list of names, \['name'\]"):
        feature_table(FRAME, drop="name")
    with pytest.raises(ValueError, match="no feature column is left"):
        feature_table(FRAME, columns=["name"], id="name")
    with pytest.raises(ValueError, match="id 'x' of column 'i' is in rows 0 and 2"):
        feature_table(pl.DataFrame({"i": ["x", "y", "x"], "a": [1, 2, 3]}), id="i")
    with pytest.raises(ValueError, match="id column 'i' has no value in row 1"):
        feature_table(pl.DataFrame({"i": ["x", None], "a": [1, 2]}), id="i")
