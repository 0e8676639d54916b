"""Tables in the terminal, and tables to files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SHOWN = 6
"""Rows that are shown from either end of a long table of people."""


def show(
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    title: str | None = None,
    right: int | None = None,
    whole: bool = False,
) -> None:
    """Print a table.

    Args:
        columns: their names.
        rows: values, in the order of the columns; what is rich's ``Text`` keeps its style.
        title: above it.
        right: columns from this one on are numbers and stand flush right.
        whole: no value is broken over lines or cut: what is wider than the terminal stands below, in further tables,
            each with the first column.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    width = Console().width
    groups: list[Sequence[int]] = [range(len(columns))]
    if whole:
        groups = _side_by_side(columns, rows, width)
        width = max(width, *(_width(columns, rows, group) for group in groups))
    console = Console(soft_wrap=False, width=width)
    for group in groups:
        table = Table(title=title and escape(title), title_justify="left", header_style="bold")
        for i in group:
            justify: Any = "right" if right is not None and i >= right else "left"
            table.add_column(escape(columns[i]), justify=justify, no_wrap=whole or i == 0)
        for row in rows:
            table.add_row(*(row[i] if isinstance(row[i], Text) else escape(str(row[i])) for i in group))
        console.print(table)
        title = None


def _side_by_side(columns: Sequence[str], rows: Sequence[Sequence[Any]], width: int) -> list[Sequence[int]]:
    """The first column with as many of the others as fit, then with the next, and so on; one at least each time."""
    groups: list[list[int]] = [[0]]
    for i in range(1, len(columns)):
        if len(groups[-1]) > 1 and _width(columns, rows, [*groups[-1], i]) > width:
            groups.append([0])
        groups[-1].append(i)
    return list(groups)


def _width(columns: Sequence[str], rows: Sequence[Sequence[Any]], group: Sequence[int]) -> int:
    """Of a table of some columns: its lines, a space on either side of each value, and the values."""
    from rich.cells import cell_len

    def widest(i: int) -> int:
        values = (columns[i], *(row[i] for row in rows))
        return max(cell_len(line) for value in values for line in str(value).split("\n"))

    return 1 + sum(widest(i) + 3 for i in group)


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
