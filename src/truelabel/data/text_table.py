"""The texts in a column of a table, one for each example."""

from __future__ import annotations

import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from truelabel.data.memory import require_memory
from truelabel.frames import Table, TableError, listing


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts and what each example is called.

    Attributes:
        texts: N of them; the empty text where the table has none.
        ids: ``(N,)``, the name of each example; its position where no column names it.

    Example:
        >>> text_table({"review": ["fine", "dull"]}, "review").ids
        (0, 1)
    """

    texts: list[str]
    ids: tuple[Hashable, ...]


def text_table(
    source: Any,
    column: str,
    *,
    id: str | None = None,  # noqa: A002 - the word that users of tables know
) -> Texts:
    """Read a column of texts. In files that do not tell types, numbers and NA are texts like any other.

    Args:
        source: path to CSV, TSV or Parquet, a data frame (pandas, polars, pyarrow, …), or a dict of columns.
        column: the texts. Empty ones are read as texts without words, with one warning.
        id: the column that names each example; it may be the column of the texts. Rows of the same name are one
            example, as in a table with one row a label, and their texts must agree.

    Raises:
        TableError: for a file that cannot be read or is too large for the memory, a column that is not there, a table
            without rows, a name that is missing, or two texts of one name.

    Example:
        >>> rows = {"task": [7, 7, 9], "text": ["fine", "fine", "dull"], "label": ["good", "bad", "bad"]}
        >>> text_table(rows, "text", id="task")
        Texts(texts=['fine', 'dull'], ids=(7, 9))
    """
    table = Table(source)
    for argument, name in (("text", column), ("id", id)):
        if name is not None and name not in table.columns:
            raise TableError(f"{argument} names {name!r}, which is not there: choose from {listing(table.columns)}")
    require_memory(table, [column])
    texts = [text or "" for text in table.texts(column).to_pylist()]
    if not texts:
        raise TableError(f"{table.name} has no rows: pass a table with at least one")
    ids: tuple[Hashable, ...] = tuple(range(len(texts)))
    if id is not None:
        ids = tuple(texts) if id == column else tuple(table.names(id).to_pylist())
        rows = _first_rows(ids, texts, id)
        texts, ids = [texts[row] for row in rows], tuple(ids[row] for row in rows)
    empty = [row for row, text in enumerate(texts) if not text.strip()]
    if empty:
        more = f" and {len(empty) - 1} more" if len(empty) > 1 else ""
        warnings.warn(
            f"column {column!r} of {table.name} has no text for example {ids[empty[0]]!r}{more}: read as no words",
            UserWarning,
            stacklevel=2,
        )
    return Texts(texts, ids)


def _first_rows(ids: tuple[Hashable, ...], texts: list[str], name: str) -> list[int]:
    """The row in which each name stands first."""
    first: dict[Hashable, int] = {}
    for row, value in enumerate(ids):
        if value is None:
            raise TableError(f"id column {name!r} has no value in row {row + 1}: fill it in or drop the row")
        before = first.setdefault(value, row)
        if texts[before] != texts[row]:
            raise TableError(
                f"example {value!r} has two texts, in rows {before + 1} and {row + 1}: "
                "name a column with id= that tells texts apart"
            )
    return list(first.values())
