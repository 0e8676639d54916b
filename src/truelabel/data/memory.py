"""Whether a table fits into memory, before any of it is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from truelabel.frames import READERS, Table, TableError

SHARE = 0.5
"""Of the memory that is free, what the columns of one table may take: training needs the rest."""


def require_memory(table: Table, columns: Sequence[str], free: int | None = None) -> None:
    """Refuse a file whose columns would not fit into half of the memory that is free; data frames already lie there.

    Text files count in full, since they are parsed once for all columns. Parquet counts as it is unpacked, at least 8
    bytes a value, so that a small file that unpacks to an absurd size is refused too.

    Args:
        table: what is to be read.
        columns: which of its columns.
        free: bytes that are free; those of this machine by default.

    Raises:
        TableError: in one line, with both sizes.

    Example:
        >>> require_memory(Table({"a": [1, 2]}), ["a"])
    """
    if not isinstance(table.source, Path):
        return
    free = _free() if free is None else free
    needed = _unpacked(table.source, columns)
    if free is not None and needed > SHARE * free:
        raise TableError(
            f"{table.name} takes {_gigabytes(needed)} of memory, but {_gigabytes(free)} are free: "
            "train on fewer rows or columns"
        )


def _unpacked(path: Path, columns: Sequence[str]) -> int:
    if READERS[path.suffix.lower()]:
        return path.stat().st_size
    import pyarrow.parquet as pq

    described, wanted = pq.read_metadata(path), set(columns)
    groups = [described.row_group(i) for i in range(described.num_row_groups)]
    chunks = [group.column(i) for group in groups for i in range(group.num_columns)]
    kept = [chunk for chunk in chunks if chunk.path_in_schema in wanted]
    return int(sum(max(chunk.total_uncompressed_size, 8 * chunk.num_values) for chunk in kept))


def _free() -> int | None:
    """Bytes that programs can still have; all that there are where the system does not tell; None if not even that."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * int(next(line for line in lines if line.startswith("MemAvailable")).split()[1])
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
