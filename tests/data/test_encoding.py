from __future__ import annotations

import datetime
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.preprocessing import OneHotEncoder

from truelabel.data.encoding import encode
from truelabel.frames import Table, TableError


def test_categories_as_scikit_learn_has_them() -> None:
    rng = np.random.default_rng(0)
    hue, size = rng.choice(["red", "blue", "grün"], 40), rng.normal(size=40)
    encoded = encode(Table({"hue": hue, "size": size}), ["hue", "size"])
    reference = OneHotEncoder(sparse_output=False).fit(hue[:, None])
    expected = np.column_stack([reference.transform(hue[:, None]), size])
    np.testing.assert_allclose(encoded.inputs, expected, rtol=1e-6)
    assert encoded.names == ("hue=blue", "hue=grün", "hue=red", "size")
    assert encoded.categories == {"hue": ("blue", "grün", "red")}
    assert encoded.fills == {}


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_another_table_is_read_alike(make: Any) -> None:
    train = {"hue": ["b", "a", "b", "a"], "size": [1.0, None, 4.0, 2.0]}
    learned = encode(Table(make(train)), ["hue", "size"], fill="median")
    assert learned.fills == {"size": 2.0}
    new = Table(make({"size": [None, 7.0, 8.0], "hue": ["a", "c", None]}))
    with pytest.warns(
        UserWarning, match="the training had no hue 'c': values that it did not see count as none"
    ) as seen:
        encoded = encode(new, ["hue", "size"], learned.categories, learned.fills)
    assert len(seen) == 1
    assert encoded.inputs.tolist() == [[1, 0, 2], [0, 0, 7], [0, 0, 8]]
    assert encoded.categories == learned.categories


def test_one_warning_for_all_that_was_not_seen() -> None:
    new = Table({"a": ["x", "y", "z"], "b": ["p", "q", "q"]})
    with pytest.warns(UserWarning, match="no a 'y' and 2 more") as seen:
        encoded = encode(new, ["a", "b"], {"a": ["x"], "b": ["p"]})
    assert len(seen) == 1
    assert encoded.inputs.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_categories_of_a_file_that_look_like_numbers_later(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("zip\n012\nx\n012\nx\ntrue\ntrue\n")
    learned = encode(Table(tmp_path / "a.csv"), ["zip"])
    assert learned.categories == {"zip": ("012", "true", "x")}
    for content, expected in (("012\n012", [1, 0, 0]), ("true\ntrue", [0, 1, 0])):
        (tmp_path / "b.csv").write_text(f"zip\n{content}\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert encode(Table(tmp_path / "b.csv"), ["zip"], learned.categories).inputs[0].tolist() == expected


@pytest.mark.parametrize("kind", [pd.Categorical, list])
def test_a_declared_category_is_one(kind: Any) -> None:
    frame = pd.DataFrame({"a": kind(["lo", "hi", "lo", "hi"])})
    assert encode(Table(frame), ["a"]).names == ("a=hi", "a=lo")
    assert encode(Table(pd.DataFrame({"a": pd.Categorical([1, 2, 1, 2])})), ["a"]).names == ("a=1", "a=2")


def test_too_many_values_are_no_category() -> None:
    fifty = [f"v{n:02}" for n in range(50)] * 2
    assert encode(Table({"a": fifty}), ["a"]).inputs.shape == (100, 50)
    message = "column 'a' is text, not numeric, and has 51 values in 102 rows, too many for a category .at most 50"
    with pytest.raises(TableError, match=message):
        encode(Table({"a": [*fifty, "more", "more"]}), ["a"])
    with pytest.raises(TableError, match="has 3 values in 4 rows, too many"):
        encode(Table({"a": ["x", "y", "z", "z"]}), ["a"])


def test_medians() -> None:
    table = Table({"a": [5, None, 1, 2], "b": [True, None, False, True], "c": [1.0, 2.0, 3.0, 10.0]})
    encoded = encode(table, ["a", "b", "c"], fill="median")
    assert encoded.fills == {"a": 2.0, "b": 1.0, "c": 2.5}
    assert encoded.inputs.tolist() == [[5, 1, 1], [2, 1, 2], [1, 0, 3], [2, 1, 10]]
    with pytest.raises(
        TableError, match="column 'a' has no value in row 2: fill it in, drop the row, or pass fill='med"
    ):
        encode(table, ["a"])
    with pytest.raises(TableError, match="column 'a' has no value in row 2"):
        encode(table, ["a"], fill={"b": 1.0})
    with pytest.raises(TableError, match="column 'a' has no value at all, so no median"):
        encode(Table({"a": [None, None]}), ["a"], fill="median")
    with pytest.raises(ValueError, match="fill must be median, or a value for each column, got 'mean'"):
        encode(table, ["a"], fill="mean")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [datetime.date(2026, 1, 31), datetime.datetime(2026, 1, 31, 12, 0), datetime.time(12, 0)]
)
def test_dates_are_refused(value: object) -> None:
    with pytest.raises(
        TableError, match="column 'a' is a date or time .* days since a date, or leave it out with drop="
    ):
        encode(Table({"a": [value, value]}), ["a"])


def test_a_numeric_column_that_becomes_text_is_refused() -> None:
    with pytest.raises(TableError, match="column 'a' is (large_)?string, not numeric"):
        encode(Table({"a": ["x", "x"]}), ["a"], categories={})
