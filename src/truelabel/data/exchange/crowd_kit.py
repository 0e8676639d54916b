"""crowd-kit's table of labels: task, worker, label."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from truelabel.data.exchange.entries import ExchangeError
from truelabel.data.exchange.names import safe_name

if TYPE_CHECKING:
    from truelabel.annotations import Annotations

COLUMNS = ("task", "worker", "label")
OLDER = {"worker": "performer"}
"""What a column was called before."""


def read_crowd_kit(path: str | os.PathLike[str], *, classes: Sequence[str] | None = None) -> Annotations:
    r"""Read a table as crowd-kit has them: columns ``task``, ``worker`` (before: ``performer``) and ``label``.

    Args:
        path: CSV, TSV or Parquet.
        classes: all classes in order; those found, sorted, by default.

    Raises:
        TableError: if it cannot be read or lacks a column.
        ExchangeError: if a task is called like a path that leads out of a folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "labels.csv")
        ...     _ = path.write_text("task,worker,label\nt1,w1,cat\nt1,w2,dog\n")
        ...     read_crowd_kit(path)
        Annotations(2 labels, 1 examples, 2 annotators, 2 classes: cat, dog)
    """
    from truelabel.annotations import Annotations
    from truelabel.frames import Table

    there = Table(path).columns
    task, worker, label = (name if name in there else OLDER.get(name, name) for name in COLUMNS)
    annotations = Annotations.from_table(path, example=task, annotator=worker, label=label, classes=classes)
    if not annotations.size:
        raise ExchangeError(f"{Path(path).name} holds no labels: fill in the column {label!r}")
    for name in annotations.examples:
        safe_name(str(name), f"a row of {Path(path).name}")
    return annotations


def write_crowd_kit(annotations: Annotations, path: str | os.PathLike[str]) -> None:
    """Write labels as crowd-kit reads them; the file appears whole or not at all.

    Args:
        annotations: labels of whole examples.
        path: ending in ``.csv`` or ``.parquet``.

    Example:
        >>> import tempfile
        >>> from truelabel import Annotations
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "labels.csv")
        ...     write_crowd_kit(Annotations.from_matrix([["cat", "dog"]], annotators=["w1", "w2"]), path)
        ...     read_crowd_kit(path).annotators.tolist()
        ['w1', 'w2']
    """
    from truelabel.frames import write_table

    write_table(annotations.to_table().rename_columns(list(COLUMNS)), Path(path))
