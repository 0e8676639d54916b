"""Names to integers and back: how classes, annotators and examples get their positions.

The order of names is never an accident of the order of rows. It is, in this sequence: the order that the user gives;
the order of a categorical column; otherwise sorted (numbers by size, strings by code point, False before True).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from truelabel.frames import Table
from truelabel.types import MISSING

Name = str | int | bool
Codes = NDArray[np.integer[Any]]

LARGEST = 2.0**53
"""Whole numbers beyond this are not exact as float64, so they cannot be names."""
FRACTIONAL = "fractional or infinite numbers"


class LabelError(ValueError):
    """A label, annotator or example that does not fit the names given."""


def encode_array(
    values: NDArray[Any],
    what: str,
    names: Sequence[Name] | int | None = None,
    *,
    rows: NDArray[np.integer[Any]] | None = None,
) -> tuple[Codes, NDArray[Any]]:
    """Codes ``(L,)`` and sorted names of a flat array without missing values.

    Args:
        values: ``(L,)`` integers, booleans or strings.
        what: "label", "annotator" or "example", for messages.
        names: all names in the order wanted, or their number for ``0..n-1``.
        rows: ``(L,)`` the row of the user's table that each value stands in, for messages.

    Example:
        >>> codes, names = encode_array(np.array(["b", "a", "b"]), "label")
        >>> codes.tolist(), names.tolist()
        ([1, 0, 1], ['a', 'b'])
    """
    values = _whole_numbers(values, what)
    codes, found = _compact(values) if values.dtype.kind in "iu" else _unique(values)
    return _arrange(codes, found, what, names, rows=rows)


def encode_column(
    column: Any,
    what: str,
    names: Sequence[Name] | int | None = None,
    *,
    keep_order: bool = False,
    source: str = "",
    rows: NDArray[np.integer[Any]] | None = None,
) -> tuple[Codes, NDArray[Any]]:
    """Codes ``(L,)``, with -1 where the column is null, and names of an Arrow column.

    Args:
        column: ``pyarrow.ChunkedArray``.
        what: "label", "annotator" or "example", for messages.
        names: all names in the order wanted, or their number for ``0..n-1``.
        keep_order: keep the order of a dictionary column instead of sorting.
        source: name of the table, for messages.
        rows: ``(L,)`` the row of the table that each value stands in, for messages; its position by default.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(column.type):
        whole = pc.and_(pc.equal(pc.round(column), column), pc.less_equal(pc.abs(column), LARGEST))
        if pc.all(whole).as_py() is False:
            raise LabelError(f"the {what} column of {source} holds {FRACTIONAL}: names must be whole or text")
        column = column.cast(pa.int64())
    if pa.types.is_null(column.type):
        column = column.cast(pa.int64())
    if str(column.type) == "string_view":  # which Arrow cannot sort
        column = column.cast(pa.large_string())
    if pa.types.is_integer(column.type) and not column.null_count:
        codes, found_array = _compact(column.to_numpy())
        return _arrange(codes, found_array, what, names, source=source, rows=rows)
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries() if column.num_chunks > 1 else column
        column = column.combine_chunks()
    else:
        column = column.combine_chunks().dictionary_encode()
    indices = column.indices
    if indices.null_count:
        unsigned = pa.types.is_unsigned_integer(indices.type)  # as polars counts: there is no -1 in these
        indices = (indices.cast(pa.int64()) if unsigned else indices).fill_null(MISSING)
    codes = indices.to_numpy(zero_copy_only=False)
    found = column.dictionary
    if not (pa.types.is_integer(found.type) or pa.types.is_boolean(found.type) or _is_text(found.type)):
        raise LabelError(f"the {what} column of {source} is of type {found.type}: names must be text, whole or boolean")
    if names is None and not keep_order:
        order = pc.sort_indices(found).to_numpy()
        rank = np.empty(len(order) + 1, np.int32)
        rank[order] = np.arange(len(order), dtype=np.int32)
        rank[-1] = MISSING
        return rank[codes], found.take(pa.array(order)).to_numpy(zero_copy_only=False)
    found_names = found.to_numpy(zero_copy_only=False)
    if names is None:
        return codes.astype(np.int32), found_names
    return _arrange(codes, found_names, what, names, source=source, rows=rows)


def dense_values(matrix: Any, missing: Name | None) -> tuple[NDArray[Any], NDArray[np.bool_], Sequence[Name] | None]:
    """Values ``(N, R)`` of a dense matrix, which of them are given, and the names of columns if it is a data frame."""
    columns: Sequence[Name] | None = None
    if hasattr(matrix, "columns"):
        table = Table(matrix)
        columns = table.columns
        lists = [table.column(name).to_pylist() for name in columns]
        values = np.array(lists, object).T if lists else np.empty((0, 0), object)
    elif isinstance(matrix, np.ndarray | Tensor):
        values = np.asarray(matrix)
    else:
        rows = list(matrix)
        if len({len(row) for row in rows}) > 1:
            raise LabelError("the rows of matrix differ in length")
        values = np.array([list(row) for row in rows], object)
    if values.dtype.kind == "O":
        given = np.array([not is_missing(v, missing) for v in values.ravel()], bool).reshape(values.shape)
        values = _narrow(values, given)
    elif values.dtype.kind == "f":
        given = ~np.isnan(values)
        if missing is not None:
            given &= values != missing
    elif values.dtype.kind in "iuU" and missing is not None:
        given = values != missing
    else:
        given = np.ones(values.shape, bool)
    return values, given, columns


def _narrow(values: NDArray[Any], given: NDArray[np.bool_]) -> NDArray[Any]:
    """Objects that are all numbers, as numbers: ``[1, None, 2.0]`` came from integers with a gap."""
    kinds = {type(v) for v in values[given]}
    if kinds and all(issubclass(k, int | float | np.integer | np.floating) and k is not bool for k in kinds):
        numbers = np.zeros(values.shape, np.float64)
        numbers[given] = values[given].astype(np.float64)
        return numbers
    return values


def is_missing(value: Any, missing: Name | None) -> bool:
    """Whether a value is None, NaN, NA or the one that the user says means missing."""
    # pandas' NA is neither equal nor unequal to itself: it refuses to become a truth value.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    if isinstance(value, float | np.floating) and np.isnan(value):
        return True
    return missing is not None and not isinstance(value, bool) and bool(value == missing)


def _arrange(
    codes: Codes,
    found: NDArray[Any],
    what: str,
    names: Sequence[Name] | int | None,
    *,
    source: str = "",
    rows: NDArray[np.integer[Any]] | None = None,
) -> tuple[Codes, NDArray[Any]]:
    if names is None:
        return codes.astype(np.int32), found
    wanted = list(range(names)) if isinstance(names, int | np.integer) else list(names)
    position = {_plain(name): i for i, name in enumerate(wanted)}
    if len(position) != len(wanted):
        raise LabelError(f"the {what}s given name one of them twice: {_listing(wanted)}")
    by_text = {str(name): i for name, i in position.items()}
    table = np.array([position.get(_plain(v), by_text.get(str(v), MISSING)) for v in found] + [MISSING], np.int32)
    unknown = np.flatnonzero(table[:-1] == MISSING)
    outside = np.isin(codes, unknown) if len(unknown) else unknown
    if outside.any():  # a category that no row uses may be unknown
        where = int(outside.argmax())
        value = _plain(found[codes[where]])
        row = where if rows is None else int(rows[where])
        place = f" of {source}" if source else ""
        raise LabelError(
            f"{what} {value!r} in row {row + 1}{place} is outside {_listing(wanted)}: "
            f"pass {_argument(what)}= or fix the row"
        )
    return table[codes], name_array(wanted)


def name_array(names: Sequence[Any]) -> NDArray[Any]:
    """Names as a one-dimensional array: integers and booleans as such, everything else as Python objects."""
    array = np.asarray(names)
    if array.dtype.kind in "iub" and array.ndim == 1:
        return array
    objects = np.empty(len(names), object)
    objects[:] = [_plain(name) for name in names]
    return objects


def class_names(names: NDArray[Any]) -> tuple[Name, ...]:
    """Names as plain Python values, ready for JSON."""
    return tuple(_plain(name) for name in names)


def _unique(values: NDArray[Any]) -> tuple[Codes, NDArray[Any]]:
    found, codes = np.unique(values, return_inverse=True)
    return codes, found


def _compact(values: NDArray[np.integer[Any]]) -> tuple[Codes, NDArray[Any]]:
    """Codes and sorted names of integers; by counting, without a sort, where they are dense enough."""
    if not len(values):
        return np.empty(0, np.int32), np.empty(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > 4 * len(values) + 1000 or high > np.iinfo(np.int64).max:
        return _unique(values)
    # As 64 bits, since the range of small integers exceeds their type.
    shifted = values.astype(np.int64, copy=False) - low if low else values
    present = np.zeros(high - low + 1, bool)
    present[shifted] = True
    rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
    return rank[shifted], np.flatnonzero(present) + low


def _whole_numbers(values: NDArray[Any], what: str) -> NDArray[Any]:
    if values.dtype.kind == "f":
        if not np.all((values == np.floor(values)) & (np.abs(values) <= LARGEST)):
            raise LabelError(f"{what}s hold {FRACTIONAL}: names must be whole or text")
        return values.astype(np.int64)
    if values.dtype.kind == "O":
        kinds = {type(_plain(v)) for v in values.ravel()}
        if len(kinds) > 1:
            raise LabelError(f"{what}s mix {' and '.join(sorted(k.__name__ for k in kinds))}: use one type for all")
    return values


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _listing(names: Sequence[Any]) -> str:
    if len(names) > 1 and all(isinstance(n, int) and n == i for i, n in enumerate(names)):
        return f"0..{len(names) - 1}"
    shown = ", ".join(str(n) for n in names[:6])
    return shown if len(names) <= 6 else f"{shown}, … ({len(names)} in all)"


def _argument(what: str) -> str:
    return {"label": "classes", "annotator": "annotators", "example": "examples"}[what]


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
