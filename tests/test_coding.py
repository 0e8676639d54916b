from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from truelabel.coding import LabelError, class_names, dense_values, encode_array, encode_column, name_array

Values = list[Any]


def coded_by_dict(values: Values, names: Values | None = None) -> tuple[list[int], Values]:
    """The slow reference: -1 for None, positions in ``names`` or in the sorted set for the rest."""
    names = sorted({v for v in values if v is not None}) if names is None else names
    position = {name: i for i, name in enumerate(names)}
    return [-1 if v is None else position[v] for v in values], names


def dictionary(indices: Values, names: Values, kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([pa.DictionaryArray.from_arrays(pa.array(indices, kind), pa.array(names))])


integers = st.integers(-(2**63), 2**63 - 1) | st.integers(-5, 5)
text = st.text(st.characters(codec="utf-8"), max_size=5)
lists = st.one_of(*(st.lists(kind, max_size=20) for kind in (integers, text, st.booleans())))


@settings(deadline=None)
@given(lists)
def test_codes_of_an_array_equal_a_dict(values: Values) -> None:
    objects = np.empty(len(values), object)
    objects[:] = values
    codes, names = encode_array(objects, "label")
    assert (codes.tolist(), names.tolist()) == coded_by_dict(values)
    assert codes.dtype == np.int32


@settings(deadline=None)
@given(lists.flatmap(lambda values: st.tuples(st.just(values), st.lists(st.booleans(), min_size=len(values)))))
def test_codes_of_a_column_equal_a_dict(drawn: tuple[Values, list[bool]]) -> None:
    values = [None if gap else value for value, gap in zip(*drawn, strict=False)]
    half = len(values) // 2
    kind = pa.array(drawn[0]).type if drawn[0] else pa.string()
    column = pa.chunked_array([pa.array(values[:half], kind), pa.array(values[half:], kind)])
    for stored in (column, column.dictionary_encode()):
        codes, names = encode_column(stored, "label")
        assert (codes.tolist(), names.tolist()) == coded_by_dict(values)
        assert codes.dtype == np.int32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_integers_of_every_width_keep_their_names(dtype: type[np.integer[Any]]) -> None:
    limits = np.iinfo(dtype)
    for values in ([limits.max, limits.min, limits.max], [limits.max, limits.max - 3], [2, 1, 2]):
        for codes, names in (
            encode_array(np.array(values, dtype), "label"),
            encode_column(pa.chunked_array([pa.array(values, pa.from_numpy_dtype(dtype))]), "label"),
        ):
            assert (codes.tolist(), names.tolist()) == coded_by_dict(values)


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.uint32(), pa.int64()])
def test_a_dictionary_keeps_its_order_if_asked(kind: pa.DataType) -> None:
    column = dictionary([1, None, 0, 1], ["z", "b", "a"], kind)
    codes, names = encode_column(column, "label", keep_order=True)
    assert (codes.tolist(), names.tolist()) == ([1, -1, 0, 1], ["z", "b", "a"])
    codes, names = encode_column(column, "label")
    assert (codes.tolist(), names.tolist()) == ([1, -1, 2, 1], ["a", "b", "z"])
    codes, names = encode_column(column, "label", ["b", "c", "z"])
    assert (codes.tolist(), names.tolist()) == ([0, -1, 2, 0], ["b", "c", "z"])


def test_dictionaries_that_differ_by_chunk_are_unified() -> None:
    chunks = [pa.array(values).dictionary_encode() for values in (["b", "a"], ["c", "a", None])]
    codes, names = encode_column(pa.chunked_array(chunks), "label")
    assert (codes.tolist(), names.tolist()) == coded_by_dict(["b", "a", "c", "a", None])


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_text_of_every_kind_sorts_by_code_point(kind: pa.DataType) -> None:
    values = ["é", "Z", "a", None, "10", "9"]
    codes, names = encode_column(pa.chunked_array([pa.array(values, kind)]), "label")
    assert (codes.tolist(), names.tolist()) == coded_by_dict(values)


def test_whole_floats_are_integers() -> None:
    for codes, names in (
        encode_array(np.array([3.0, 1.0, 3.0]), "label"),
        encode_column(pa.chunked_array([[3.0, 1.0, 3.0]]), "label"),
    ):
        assert (codes.tolist(), names.tolist()) == ([1, 0, 1], [1, 3])
        assert names.dtype == np.int64
    codes, names = encode_column(pa.chunked_array([[3.0, None]]), "label")
    assert (codes.tolist(), names.tolist()) == ([0, -1], [3])


@pytest.mark.parametrize("value", [0.5, float("inf"), -float("inf"), 1e300])
def test_other_floats_are_refused(value: float) -> None:
    with pytest.raises(LabelError, match="labels hold fractional or infinite numbers: names must be whole or text"):
        encode_array(np.array([1.0, value]), "label")
    with pytest.raises(LabelError, match="the label column of t.csv holds fractional or infinite numbers"):
        encode_column(pa.chunked_array([[1.0, value]]), "label", source="t.csv")


def test_types_that_cannot_be_names_are_refused() -> None:
    with pytest.raises(LabelError, match="labels mix int and str: use one type for all"):
        encode_array(np.array([1, "a"], object), "label")
    with pytest.raises(LabelError, match=r"the label column of t.csv is of type timestamp\[s\]: names must be text"):
        encode_column(pa.chunked_array([pa.array([0], pa.timestamp("s"))]), "label", source="t.csv")


@pytest.mark.parametrize("kind", [pa.null(), pa.int64(), pa.string(), pa.float64(), pa.bool_()])
@pytest.mark.parametrize("rows", [0, 2])
def test_columns_of_nothing_have_no_names(kind: pa.DataType, rows: int) -> None:
    codes, names = encode_column(pa.chunked_array([pa.nulls(rows, kind)]), "label")
    assert codes.tolist() == [-1] * rows
    assert names.tolist() == []


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), max_size=20), st.permutations(range(10)))
def test_names_given_fix_the_order(values: list[int], names: list[int]) -> None:
    for codes, found in (
        encode_array(np.array(values, np.int64), "label", names),
        encode_column(pa.chunked_array([pa.array(values, pa.int64())]), "label", names),
    ):
        assert (codes.tolist(), found.tolist()) == coded_by_dict(values, names)


@pytest.mark.parametrize(
    ("values", "names", "codes"),
    [
        ([2, 0], 4, [2, 0]),
        ([2, 0], np.int64(4), [2, 0]),
        ([1, 0], ["1", "0"], [0, 1]),
        (["1", "0"], [0, 1], [1, 0]),
        ([True, False], [False, True], [1, 0]),
        (["b", "c"], np.array(["c", "b"]), [1, 0]),
    ],
)
def test_names_match_as_they_are_or_as_text(values: Values, names: Any, codes: list[int]) -> None:
    wanted = list(range(names)) if isinstance(names, int | np.integer) else list(names)
    for found in (
        encode_array(np.array(values), "label", names),
        encode_column(pa.chunked_array([values]), "label", names),
    ):
        assert found[0].tolist() == codes
        assert found[1].tolist() == wanted


def test_a_value_outside_the_names_is_named_with_its_row() -> None:
    with pytest.raises(LabelError, match=r"^label 12 in row 2 is outside 0..9: pass classes= or fix the row$"):
        encode_array(np.array([3, 12]), "label", 10)
    with pytest.raises(LabelError, match="annotator 'z' in row 8 is outside a, b: pass annotators="):
        encode_array(np.array(["a", "z"]), "annotator", ["a", "b"], rows=np.array([3, 7]))
    column = pa.chunked_array([[None, "a", "z"]])
    with pytest.raises(LabelError, match=r"example 'z' in row 3 of t.csv is outside a, b, .* \(8 in all\): pass exam"):
        encode_column(column, "example", list("abcdefgh"), source="t.csv")
    with pytest.raises(LabelError, match="the labels given name one of them twice: a, a"):
        encode_array(np.array(["a"]), "label", ["a", "a"])


def test_a_category_that_no_row_uses_need_not_be_named() -> None:
    codes, names = encode_column(dictionary([0, 2, None], ["a", "unused", "b"], pa.int8()), "label", ["b", "a"])
    assert (codes.tolist(), names.tolist()) == ([1, 0, -1], ["b", "a"])


NUMBERS = [[0, None], [2, 1]]
NAN = float("nan")


@pytest.mark.parametrize(
    ("matrix", "missing", "expected"),
    [
        (NUMBERS, None, NUMBERS),
        ([[0, -1], [2, 1]], -1, NUMBERS),
        ([[0, NAN], [2, 1]], -1, NUMBERS),
        ([[0, pd.NA], [2, 1]], -1, NUMBERS),
        (np.array([[0, -1], [2, 1]]), -1, NUMBERS),
        (np.array([[0, 9], [2, 1]], np.uint8), 9, NUMBERS),
        (np.array([[0, -1], [2, 1]]), None, [[0, -1], [2, 1]]),
        (np.array([[0, NAN], [2, 1]]), None, NUMBERS),
        (np.array([[0, NAN], [-1, 1]]), -1, [[0, None], [None, 1]]),
        (torch.tensor([[0, -1], [2, 1]]), -1, NUMBERS),
        (np.array([[True, False]]), -1, [[True, False]]),
        ([[True, None]], 1, [[True, None]]),
        (np.array([["a", "?"]]), "?", [["a", None]]),
        ([["a", "?"]], "?", [["a", None]]),
        (np.array([["a", "?"]]), -1, [["a", "?"]]),
        (np.array([["a", None]], object), -1, [["a", None]]),
        (np.empty((0, 3), int), -1, []),
    ],
)
def test_a_dense_matrix_gives_what_is_not_missing(matrix: Any, missing: Any, expected: list[Values]) -> None:
    values, is_given, columns = dense_values(matrix, missing)
    found = [
        [value if ok else None for value, ok in zip(*rows, strict=True)] for rows in zip(values, is_given, strict=True)
    ]
    assert found == expected
    assert values.shape == is_given.shape
    assert columns is None


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_dense_data_frame_names_its_columns(make: Any) -> None:
    values, is_given, columns = dense_values(make({"ann": [0, None, 1], "bob": [2, -1, 1]}), -1)
    assert columns == ("ann", "bob")
    assert is_given.tolist() == [[True, True], [False, False], [True, True]]
    assert values[is_given].tolist() == [0, 2, 1, 1]


def test_pandas_numbers_its_columns() -> None:
    assert dense_values(pd.DataFrame([["a", "b"]]), -1)[2] == (0, 1)
    assert dense_values(pd.DataFrame(), -1)[0].shape == (0, 0)


def test_ragged_rows_are_refused() -> None:
    with pytest.raises(LabelError, match="the rows of matrix differ in length"):
        dense_values([[1, 2], [3]], -1)


@pytest.mark.parametrize(
    ("names", "kind"),
    [
        ([1, 2], "i"),
        (range(3), "i"),
        ((False, True), "b"),
        (np.array([1, 2], np.uint8), "u"),
        (["a", "bc"], "O"),
        (np.array(["a", "bc"]), "O"),
        (["a", 1, True], "O"),
        ([], "O"),
    ],
)
def test_names_keep_their_types(names: Any, kind: str) -> None:
    array = name_array(names)
    assert array.dtype.kind == kind
    assert array.shape == (len(names),)
    plain = class_names(array)
    assert plain == tuple(names)
    assert all(type(name) in (int, bool, str) for name in plain)
    assert json.loads(json.dumps(plain)) == list(plain)


def test_class_names_of_numpy_text_are_plain() -> None:
    assert [type(name) for name in class_names(np.array(["a", "b"]))] == [str, str]
