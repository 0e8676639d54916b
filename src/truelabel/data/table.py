"""The feature matrix in a table: CSV, TSV, Parquet or any data frame."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truelabel.frames import Column, Table, TableError, listing


@dataclass(frozen=True, eq=False)
class Features:
    """The feature matrix in a table.

    Attributes:
        inputs: ``(N, F)`` float32, all finite.
        columns: ``(F,)``, the names of the features.
        ids: ``(N,)``, the name of each example; its position where the table has no column for it.

    Example:
        >>> feature_table({"image": ["a", "b"], "size": [3, 5]}, id="image").ids
        ('a', 'b')
    """

    inputs: npt.NDArray[np.float32]
    columns: tuple[str, ...]
    ids: tuple[Hashable, ...]


def feature_table(
    source: Any,
    *,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    id: str | None = None,  # noqa: A002 - the word that users of tables know
) -> Features:
    """The numeric and boolean columns of a table as one matrix. Rows are counted from 1 in messages.

    Args:
        source: path to CSV, TSV or Parquet, a data frame (pandas, polars, pyarrow, …), or a dict of columns.
        columns: the features, in this order; all columns but ``drop`` and ``id`` if left out.
        drop: columns to leave out.
        id: the column that names each example; its values must differ.

    Raises:
        TableError: for a file that cannot be read, a table without rows, a column that is not there or not numeric,
            a value that is missing or not finite, or an id that occurs twice.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"name": ["a", "b"], "height": [1.5, 2.5], "adult": [True, False]})
        >>> feature_table(table, id="name")
        Features(inputs=array([[1.5, 1. ],
               [2.5, 0. ]], dtype=float32), columns=('height', 'adult'), ids=('a', 'b'))
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
    features = []
    for name, column in zip(chosen, table.read(chosen), strict=True):
        if not len(column):
            break
        features.append(_numbers(name, column))
    if not features:
        raise TableError(f"{table.name} has no rows: pass a table with at least one")
    ids = tuple(range(len(features[0]))) if id is None else _unique(id, table.names(id))
    return Features(np.stack(features, axis=1), tuple(map(str, chosen)), ids)


def _numbers(name: str, column: Column) -> npt.NDArray[np.float32]:
    import pyarrow as pa

    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean, pa.types.is_null)
    if not any(is_kind(column.type) for is_kind in kinds):
        raise TableError(f"column {name!r} is {column.type}, not numeric: leave it out with drop= or name columns=")
    if column.null_count:
        row = column.is_null().index(True).as_py() + 1
        raise TableError(f"column {name!r} has no value in row {row}: fill it in or drop the row")
    values: npt.NDArray[np.float64] = column.cast(pa.float64(), safe=False).to_numpy()
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        single = values.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(single))
    if wrong.size:
        raise TableError(
            f"column {name!r} has {values[wrong[0]]} in row {wrong[0] + 1}, "
            "which is not a finite float32: fix the value or drop the row"
        )
    return single


def _unique(name: str, column: Column) -> tuple[Hashable, ...]:
    ids = tuple(column.to_pylist())
    first: dict[Hashable, int] = {}
    for row, value in enumerate(ids, start=1):
        if value is None:
            raise TableError(f"id column {name!r} has no value in row {row}: fill it in or drop the row")
        if first.setdefault(value, row) != row:
            raise TableError(f"id {value!r} of column {name!r} is in rows {first[value]} and {row}: make them differ")
    return ids
