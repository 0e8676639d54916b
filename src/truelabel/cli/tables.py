"""Tables in the terminal, and tables to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SHOWN = 6
"""Rows that are shown from either end of a long table of people."""


def show(
    columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None, right: int | None = None
) -> None:
    """Print a table; columns from ``right`` on are numbers and stand flush right."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title and escape(title), title_justify="left", header_style="bold")
    for i, column in enumerate(columns):
        table.add_column(
            escape(column), justify="right" if right is not None and i >= right else "left", no_wrap=i == 0
        )
    for row in rows:
        table.add_row(*(escape(str(value)) for value in row))
    Console(soft_wrap=False).print(table)


def show_ends(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str) -> None:
    """Print a table of people, the most skilled first; of many only the ends."""
    if len(rows) > 2 * SHOWN:
        rows, title = [*rows[:SHOWN], *rows[-SHOWN:]], f"{title}: the six most and the six least skilled"
    show(columns, rows, title=title, right=1)


def show_readers(readers: Mapping[str, Any], against: str, title: str) -> None:
    """Print a table of readers: images, skill, and the Dice of their masks with something."""
    rows = [
        [name, images, f"{skill:.1%}", f"{overlap:.3f}"]
        for name, images, skill, overlap in sorted(zip(*readers.values(), strict=True), key=lambda row: -row[2])
    ]
    show_ends(["reader", "images", "skill", f"Dice with {against}"], rows, title)


def counted(counts: Mapping[str, int]) -> str:
    """What there is any of.

    Example:
        >>> counted({"example": 2, "reader": 0, "annotator": 1})
        '2 examples and 1 annotator'
    """
    return " and ".join(f"{n} {what}{'s' * (n > 1)}" for what, n in counts.items() if n)


def write_columns(columns: Mapping[str, Any], path: Path) -> None:
    """Columns by name to a CSV or Parquet file that appears whole or not at all."""
    import pyarrow as pa

    from truelabel.frames import write_table

    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(pa.table({name: pa.array(values) for name, values in columns.items()}), path)


def check_output(path: Path) -> None:
    """Refuse an ending that cannot be written before anything is computed."""
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"--out {path} must end in .csv or .parquet")
    if path.is_dir():
        raise ValueError(f"--out {path} is a folder: name a file in it")
