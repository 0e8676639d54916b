"""Labels from a wide table: one row an example, one column an annotator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.coding import Codes, LabelError, Name, encode_column, name_array
from truelabel.frames import Column, Table, TableError, listing, looks_like
from truelabel.types import MISSING

FEW = 10
"""Rows below which values may all differ by chance."""


@dataclass(frozen=True, eq=False)
class WideLabels:
    """The labels given, as positions in names.

    Attributes:
        example: ``(L,)``; the same for ``annotator`` and ``label``.
        annotator: ``(L,)``.
        label: ``(L,)``.
        examples: ``(N,)`` names; the same for ``annotators (R,)`` and ``classes (K,)``.
        annotators: ``(R,)``.
        classes: ``(K,)``.
    """

    example: Codes
    annotator: Codes
    label: Codes
    examples: NDArray[Any]
    annotators: NDArray[Any]
    classes: NDArray[Any]


def wide_columns(table: Table, example: str | None, annotators: Sequence[str] | None) -> tuple[str | None, list[str]]:
    """The column that names examples, None if rows are numbered, and those that hold the labels of an annotator each.

    Example:
        >>> wide_columns(Table({"image": ["a"], "ann": [1], "bob": [0]}), None, None)
        ('image', ['ann', 'bob'])
    """
    named = example if example is not None else looks_like(table, "example", annotators or ())
    for name in (*(annotators or ()), *(() if named is None else (named,))):
        if name not in table.columns:
            raise TableError(f"{table.name} has no column {name!r}: it has {listing(table.columns)}")
    if annotators is None:
        annotators = [name for name in table.columns if name != named]
        if named is None:
            _refuse_names(table, annotators)
    if not annotators:
        raise TableError(f"{table.name} has no column of an annotator: it has {listing(table.columns)}")
    if named in annotators:
        raise TableError(f"column {named!r} of {table.name} names the examples: it cannot be an annotator too")
    return named, list(annotators)


def read_wide(
    table: Table,
    example: str | None = None,
    annotators: Sequence[str] | None = None,
    classes: Sequence[Name] | int | None = None,
    examples: Sequence[Name] | None = None,
) -> WideLabels:
    """Read a wide table. Empty cells, NA, NaN and, among whole numbers, -1 mean "no label", as in a matrix.

    Args:
        table: one row an example.
        example: the column that names examples; guessed by default, and rows are numbered if none looks like it.
        annotators: the columns of labels, one an annotator; all but the examples' by default.
        classes: all class names in order, or their number; sorted names by default.
        examples: all examples in order; as they stand in the table by default, sorted.

    Example:
        >>> labels = read_wide(Table({"image": ["a", "b"], "ann": ["cat", None], "bob": ["dog", "cat"]}))
        >>> labels.example.tolist(), labels.annotator.tolist(), labels.label.tolist()
        ([0, 0, 1], [0, 1, 1], [0, 1, 0])
    """
    named, chosen = wide_columns(table, example, annotators)
    columns = _of_one_type(table, chosen)
    rows = len(columns[0])
    if not rows:
        raise TableError(f"{table.name} has no rows")
    # Row by row, so that messages name the first row that is wrong.
    values = _interleaved(columns)
    codes, found = encode_column(
        values, "label", classes, source=table.name, rows=np.repeat(np.arange(rows), len(chosen))
    )
    others = [name for name in table.columns if name not in chosen]
    position, names = _examples(table, named, rows, examples, others)
    given = np.flatnonzero(codes >= 0)
    return WideLabels(
        position[given // len(chosen)], given % len(chosen), codes[given], names, name_array(chosen), found
    )


def _examples(
    table: Table, named: str | None, rows: int, examples: Sequence[Name] | None, others: Sequence[str]
) -> tuple[Codes, NDArray[Any]]:
    if named is None:
        if examples is not None and len(examples) != rows:
            raise LabelError(f"{table.name} has {rows} rows, but there are {len(examples)} examples: pass example=")
        if examples is not None and others and list(examples) != list(range(rows)):
            raise LabelError(
                f"the examples have names, but nothing says which row of {table.name} is about which: pass example= "
                f"one of {listing(others)}"
            )
        return np.arange(rows), np.arange(rows) if examples is None else name_array(examples)
    codes, names = encode_column(table.names(named), "example", examples, source=table.name)
    if codes.min() < 0:
        row = int((codes < 0).argmax())
        raise LabelError(f"row {row + 1} of {table.name} has no example in column {named!r}: fill it in")
    again = np.flatnonzero(np.bincount(codes) > 1)
    if len(again):
        raise LabelError(
            f"example {names[again[0]]!r} is in two rows of {table.name}: a wide table has one row for each"
        )
    return codes, names


def _refuse_names(table: Table, annotators: Sequence[str]) -> None:
    """Raise an error for a column in which every row has a value of its own: it names examples."""
    import pyarrow.compute as pc

    for name in annotators:
        column = table.names(name)
        if len(column) >= FEW and not column.null_count and len(pc.unique(column)) == len(column):
            raise TableError(
                f"column {name!r} of {table.name} has another value in every row, as names of examples do: "
                f"pass example= {name}, or annotators= the columns of labels"
            )


def _of_one_type(table: Table, names: Sequence[str]) -> list[Column]:
    """Columns of labels; as text if not all are numbers, or not all booleans."""
    import pyarrow as pa

    columns = [table.names(name) for name in names]
    kinds = {column.type for column in columns if not pa.types.is_null(column.type)}
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in kinds):
        whole = all(pa.types.is_integer(kind) for kind in kinds)
        return [_without_minus_one(column.cast(pa.int64() if whole else pa.float64())) for column in columns]
    if all(pa.types.is_boolean(kind) for kind in kinds):
        return [column.cast(pa.bool_()) for column in columns]
    return [table.texts(name, nulls=True).cast(pa.large_string()) for name in names]


def _without_minus_one(column: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(column, MISSING), pa.scalar(None, column.type), column)


def _interleaved(columns: Sequence[Column]) -> Column:
    """First row of all columns, second row of all columns, and so on."""
    import pyarrow as pa

    rows = len(columns[0])
    stacked = pa.chunked_array([chunk for column in columns for chunk in column.chunks], columns[0].type)
    order = np.arange(rows * len(columns)).reshape(len(columns), rows).T.ravel()
    return stacked.take(pa.array(order))
