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

from truelabel.data import feature_table
from truelabel.frames import TableError, write_table


def test_features_from_each_kind_of_file(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'\xef\xbb\xbfname,note,size,yes\nx,"two\nlines",1.5,true\ny,,-2,false\n')
    (tmp_path / "a.TSV").write_bytes(b"name\tnote\tsize\tyes\r\nx\tNA\t1.5\ttrue\r\ny\t\t-2\tfalse\r\n")
    table = pa.table({"name": ["x", "y"], "note": ["", None], "size": [1.5, -2.0], "yes": [True, False]})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    for name in ("a.csv", "a.TSV", "a.parquet"):
        for source in (tmp_path / name, str(tmp_path / name)):
            features = feature_table(source, id="name", drop=["note"])
            assert features.inputs.tolist() == [[1.5, 1], [-2, 0]]
            assert features.columns == ("size", "yes")
            assert features.ids == ("x", "y")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pl.LazyFrame, pa.table, dict])
def test_features_from_any_data_frame(make: Any) -> None:
    features = feature_table(make({"a": [1, 2], "b": [0.5, 0.25]}))
    assert features.inputs.tolist() == [[1, 0.5], [2, 0.25]]
    assert features.inputs.dtype == np.float32
    assert features.ids == (0, 1)


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_wide_file_is_opened_once(tmp_path: Path, ending: str) -> None:
    # To parse the file, or its footer, for every column would take minutes here.
    values = np.random.default_rng(0).integers(0, 256, (20, 3000)).astype(np.float64)
    path = tmp_path / f"wide{ending}"
    write_table(pa.table({f"p{i}": values[:, i] for i in range(3000)}), path)
    np.testing.assert_array_equal(feature_table(path).inputs, values)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.xlsx", "x", "expected a file ending in .csv"),
        ("a.csv", "", "is empty"),
        ("a.csv", "a,b\n", "has no rows"),
        ("a.csv", "a,b\n1\n", "cannot read"),
        ("a.csv", "a,a\n1,2\n", "two columns of the same name"),
        ("a.csv", b"a\n\xe9t\xe9\n", "column 'a' of .* is not UTF-8"),
        ("a.parquet", "no parquet", "cannot read"),
        ("none.csv", None, "there is no file .*none.csv"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, name: str, content: str | bytes | None, message: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(TableError, match=message) as caught:
        feature_table(path)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value)


def test_wrong_sources() -> None:
    with pytest.raises(TableError, match="a table must be a path to CSV or Parquet, .* not list"):
        feature_table([1, 2])
    for empty in (pl.DataFrame({"a": []}), pl.DataFrame(schema={"a": pl.String}), pd.DataFrame()):
        with pytest.raises(TableError, match="the table has no rows"):
            feature_table(empty)
    with pytest.raises(TableError, match="two columns of the same name"):
        feature_table(pd.DataFrame([[1, 2]], columns=["a", "a"]))


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
    features = feature_table(frame, id="name")
    assert features.inputs.dtype == np.float32
    assert features.inputs.tolist() == [[1, 0.25, 1, 1.5], [-2, 4, 0, 2]]
    assert features.columns == ("whole", "real", "yes", "exact")
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


def test_large_integers_are_rounded() -> None:
    assert feature_table({"a": [2**60 + 1, 2**24 + 1]}).inputs.ravel().tolist() == [2.0**60, 2.0**24]


@pytest.mark.parametrize("argument", ["columns", "drop", "id"])
def test_a_wrong_column_names_those_there_are(argument: str) -> None:
    wrong: Any = "wide" if argument == "id" else ["wide"]
    message = f"{argument} names 'wide', which is not there: choose from name, whole, real, yes, exact"
    with pytest.raises(ValueError, match=message):
        feature_table(FRAME, **{argument: wrong})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": ["x", "y"]}, "column 'a' is text, not numeric, and has 2 values in 2 rows, .* leave it out with drop="),
        ({"a": [1.0, None]}, "column 'a' has no value in row 2"),
        ({"a": [1, None]}, "column 'a' has no value in row 2"),
        ({"a": [None, None]}, "column 'a' has no value in row 1"),
        ({"a": [True, None]}, "column 'a' has no value in row 2"),
        ({"b": [0.0, 1.0], "a": [float("inf"), 1.0]}, "column 'a' has inf in row 1"),
        ({"a": [1.0, 1e39]}, r"column 'a' has 1e\+39 in row 2"),
    ],
)
@pytest.mark.parametrize("make", [pl.DataFrame, pa.table])
def test_a_wrong_value_is_named(make: Any, content: dict[str, list[Any]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        feature_table(make(content))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_nan_is_named(make: Any) -> None:
    with pytest.raises(ValueError, match="column 'a' has no value in row 2"):
        feature_table(make({"a": [1.0, float("nan")]}))


def test_rows_of_one_example_are_one() -> None:
    table = {"task": ["b", "a", "b"], "size": [1.0, 2.0, 1.0], "hue": ["x", "x", "x"]}
    features = feature_table(table, id="task", repeated=True)
    assert features.ids == ("b", "a")
    assert features.inputs.tolist() == [[1, 1], [2, 1]]
    with pytest.raises(TableError, match="example 'b' has two rows of features, 1 and 3, that differ: mend one"):
        feature_table({**table, "size": [1.0, 2.0, 3.0]}, id="task", repeated=True)


def test_other_wrong_arguments() -> None:
    with pytest.raises(TypeError, match=r"drop is the text 'name': pass a list of names, \['name'\]"):
        feature_table(FRAME, drop="name")
    with pytest.raises(ValueError, match="no feature column is left"):
        feature_table(FRAME, columns=["name"], id="name")
    with pytest.raises(ValueError, match="id 'x' of column 'i' is in rows 1 and 3"):
        feature_table(pl.DataFrame({"i": ["x", "y", "x"], "a": [1, 2, 3]}), id="i")
    with pytest.raises(ValueError, match="id column 'i' has no value in row 2"):
        feature_table(pl.DataFrame({"i": ["x", None], "a": [1, 2]}), id="i")
