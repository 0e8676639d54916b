"""The feature matrix in a table: CSV, TSV, Parquet or any data frame."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from truelabel.data.encoding import Fill, encode
from truelabel.data.memory import require_memory
from truelabel.frames import Column, Table, TableError, listing


@dataclass(frozen=True, eq=False)
class Features:
    """The feature matrix in a table.

    Attributes:
        inputs: ``(N, F)`` float32, all finite.
        columns: the columns that were read. Each is a feature, but for categories, which are one for each value.
        ids: ``(N,)``, the name of each example; its position where the table has no column for it.
        categories: values of text columns that are features; pass it on to read another table alike.
        fills: what stands for a missing value of each numeric column, with ``fill``; pass it on as ``fill``.

    Example:
        >>> feature_table({"image": ["a", "b"], "size": [3, 5]}, id="image").ids
        ('a', 'b')
    """

    inputs: npt.NDArray[np.float32]
    columns: tuple[str, ...]
    ids: tuple[Hashable, ...]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)
    fills: dict[str, float] = field(default_factory=dict)


def feature_table(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    id: str | None = None,  # noqa: A002 - the word that users of tables know
    categories: Mapping[str, Sequence[str]] | None = None,
    fill: Fill = None,
    repeated: bool = False,
) -> Features:
    """The columns of a table as one matrix. Rows are counted from 1 in messages.

    Numbers are taken as they are and booleans as 0 and 1. Text is a category if it has at most 50 different values,
    each in two rows on average: one feature of 0 and 1 for each value, in sorted order; all are 0 where the value is
    missing. Dates and times are refused.

    Args:
        source: path to CSV, TSV or Parquet, a data frame (pandas, polars, pyarrow, …), or a dict of columns.
        columns: the features, in this order; all columns but ``drop`` and ``id`` if left out.
        drop: columns to leave out.
        id: the column that names each example; its values must differ.
        categories: text columns and their values, as an earlier table told; values that are not among them are 0 in
            all features, with one warning. Learned from this table by default.
        fill: "median" puts the median of a numeric column where it has no value; or the value for each column, as an
            earlier table told. By default a missing value is an error.
        repeated: rows of the same ``id`` are one example, as in a table with one row a label; their features must
            agree.

    Raises:
        TableError: for a file that cannot be read or is too large for the memory, a table without rows, a column that
            is not there or of a kind that cannot be used, a value that is missing or not finite, or an id that occurs
            twice.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"name": ["a", "b"], "height": [1.5, 2.5], "adult": [True, False]})
        >>> feature_table(table, id="name")
        Features(inputs=array([[1.5, 1. ],
               [2.5, 0. ]], dtype=float32), columns=('height', 'adult'), ids=('a', 'b'), categories={}, fills={})
        >>> train = feature_table({"hue": ["red", "blue", "red", "blue"]})
        >>> feature_table({"hue": ["blue", None]}, categories=train.categories).inputs.tolist()
        [[1.0, 0.0], [0.0, 0.0]]
    """
    table = Table(source)
    for argument, names in (("columns", columns or ()), ("drop", drop), ("id", () if id is None else (id,))):
        if isinstance(names, str):
            raise TypeError(f"{argument} is the text {names!r}: pass a list of names, [{names!r}]")
        for name in names:
            if name not in table.columns:
                raise TableError(f"{argument} names {name!r}, which is not there: choose from {listing(table.columns)}")
    wanted = table.columns if columns is None else columns
    chosen = [name for name in wanted if name not in drop and name != id]
    if table.columns and not chosen:
        raise TableError(f"no feature column is left of {listing(table.columns)}: drop fewer or name columns=")
    require_memory(table, chosen)
    encoded = encode(table, chosen, categories, fill)
    if not len(encoded.inputs):
        raise TableError(f"{table.name} has no rows: pass a table with at least one")
    inputs = encoded.inputs
    ids: tuple[Hashable, ...] = tuple(range(len(inputs)))
    if id is not None:
        rows, ids = _first_rows(id, table.names(id), inputs if repeated else None)
        inputs = inputs if len(rows) == len(inputs) else inputs[rows]
    return Features(inputs, tuple(map(str, chosen)), ids, encoded.categories, encoded.fills)


def _first_rows(
    name: str, column: Column, inputs: npt.NDArray[np.float32] | None
) -> tuple[list[int], tuple[Hashable, ...]]:
    """The row in which each id stands first, and the ids; with ``inputs``, rows that agree in them may share one."""
    first: dict[Hashable, int] = {}
    for row, value in enumerate(column.to_pylist()):
        if value is None:
            raise TableError(f"id column {name!r} has no value in row {row + 1}: fill it in or drop the row")
        before = first.setdefault(value, row)
        if before != row and inputs is None:
            raise TableError(f"id {value!r} of column {name!r} is in rows {before + 1} and {row + 1}: make them differ")
        if before != row and inputs is not None and not np.array_equal(inputs[before], inputs[row]):
            raise TableError(
                f"example {value!r} has two rows of features, {before + 1} and {row + 1}, that differ: mend one, or "
                "leave out what is no feature with drop="
            )
    return list(first.values()), tuple(first)
