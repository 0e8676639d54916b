"""From the columns of a table to numbers: categories to one column each, gaps to medians, and both kept for later."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from truelabel.frames import Column, Table, TableError

MOST_CATEGORIES = 50
"""Different values of a text column that become features of their own."""

Fill = Literal["median"] | Mapping[str, float] | None
Numbers = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Encoded:
    """Numbers of some columns, and what it takes to read other tables alike.

    Attributes:
        inputs: ``(N, F)`` float32, all finite.
        names: ``(F,)``: the name of a numeric column, or ``column=value``.
        categories: the values of each text column that are features, in order.
        fills: what stands for a missing value in each numeric column; empty if nothing does.
    """

    inputs: Numbers
    names: tuple[str, ...]
    categories: dict[str, tuple[str, ...]]
    fills: dict[str, float]


def encode(
    table: Table, columns: Sequence[str], categories: Mapping[str, Sequence[str]] | None = None, fill: Fill = None
) -> Encoded:
    """Numeric and boolean columns as they are, text columns as one column of 0 and 1 for each value.

    A text column is a category if it has at most 50 different values, each in two rows on average. A missing value of
    a category is 0 in all its columns, and so is a value that ``categories`` does not name, with one warning.

    Args:
        table: what to read.
        columns: which columns, in this order.
        categories: the values to expect in text columns, as an earlier table told; learned from this one by default.
        fill: "median" puts the median of a numeric column where it has no value; a mapping has the value for each
            column, as an earlier table told; by default a missing value is an error.

    Example:
        >>> table = Table({"size": [1, None, 4, 5], "hue": ["red", "blue", None, "red"]})
        >>> encoded = encode(table, ["size", "hue"], fill="median")
        >>> encoded.names, encoded.fills
        (('size', 'hue=blue', 'hue=red'), {'size': 4.0})
        >>> encoded.inputs.tolist()
        [[1.0, 0.0, 1.0], [4.0, 1.0, 0.0], [4.0, 0.0, 0.0], [5.0, 0.0, 1.0]]
    """
    if isinstance(fill, str) and fill != "median":
        raise ValueError(f"fill must be median, or a value for each column, got {fill!r}")
    parts: list[Numbers] = []
    names: list[str] = []
    kept: dict[str, tuple[str, ...]] = {}
    fills: dict[str, float] = {}
    unseen: list[str] = []
    for name, column in zip(columns, table.read(columns), strict=True):
        if not len(column):
            break
        if _is_text(column) if categories is None else str(name) in categories:
            expected = None if categories is None else categories[str(name)]
            ones, kept[str(name)], strange = _categories(table, name, expected)
            parts.append(ones)
            names += [f"{name}={value}" for value in kept[str(name)]]
            unseen += strange
            continue
        numbers, middle = _numbers(name, column, fill)
        fills |= {} if middle is None else {str(name): middle}
        parts.append(numbers[:, None])
        names.append(str(name))
    if unseen:
        more = f" and {len(unseen) - 1} more" if len(unseen) > 1 else ""
        warnings.warn(
            f"the training had no {unseen[0]}{more}: values that it did not see count as none of those it saw",
            UserWarning,
            stacklevel=3,
        )
    inputs = np.concatenate(parts, axis=1) if parts else np.empty((0, 0), np.float32)
    return Encoded(inputs, tuple(names), kept, fills)


def _is_text(column: Column) -> bool:
    import pyarrow as pa

    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_dictionary)
    return any(is_kind(column.type) for is_kind in kinds) or str(column.type) == "string_view"


def _categories(table: Table, name: str, expected: Sequence[str] | None) -> tuple[Numbers, tuple[str, ...], list[str]]:
    """One column for each value, the values, and those that were not expected as ``column 'value'``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = table.texts(name, nulls=True)
    found = sorted(pc.unique(column).drop_null().to_pylist())
    if expected is None:
        if len(found) > min(MOST_CATEGORIES, len(column) // 2):
            raise TableError(
                f"column {name!r} is text, not numeric, and has {len(found)} values in {len(column)} rows, too many "
                f"for a category (at most {MOST_CATEGORIES}, each in two rows on average): leave it out with drop= or "
                "name columns=; texts to learn from are for TextFeatures, or --text"
            )
        expected = found
    values = tuple(map(str, expected))
    position = pc.index_in(column, value_set=pa.array(values, column.type)).to_numpy()
    ones = np.zeros((len(column), len(values)), np.float32)
    rows = np.flatnonzero(~np.isnan(position)) if position.dtype.kind == "f" else np.arange(len(column))
    ones[rows, position[rows].astype(np.int64)] = 1
    known = set(values)
    return ones, values, [f"{name} {value!r}" for value in found if value not in known]


def _numbers(name: str, column: Column, fill: Fill) -> tuple[Numbers, float | None]:
    """A numeric column, and what stands for its missing values."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_temporal(column.type):
        raise TableError(
            f"column {name!r} is a date or time ({column.type}), not numeric: turn it into numbers, such as days "
            "since a date, or leave it out with drop="
        )
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
    if not any(is_kind(column.type) for is_kind in kinds):
        raise TableError(f"column {name!r} is {column.type}, not numeric: leave it out with drop= or name columns=")
    middle = None
    if fill is not None:
        middle = fill.get(str(name)) if isinstance(fill, Mapping) else _median(name, column)
    if column.null_count and middle is None:
        row = column.is_null().index(True).as_py() + 1
        raise TableError(f"column {name!r} has no value in row {row}: fill it in, drop the row, or pass fill='median'")
    column = column.cast(pa.float64(), safe=False)
    values: npt.NDArray[np.float64] = (column if middle is None else pc.fill_null(column, middle)).to_numpy()
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        single = values.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(single))
    if wrong.size:
        raise TableError(
            f"column {name!r} has {values[wrong[0]]} in row {wrong[0] + 1}, "
            "which is not a finite float32: fix the value or drop the row"
        )
    return single, middle


def _median(name: str, column: Column) -> float:
    import pyarrow as pa

    there = column.cast(pa.float64(), safe=False).drop_null().to_numpy()
    if not len(there):
        raise TableError(f"column {name!r} has no value at all, so no median: leave it out with drop=")
    return float(np.median(there))
