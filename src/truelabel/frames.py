"""Columns out of whatever a user calls a table: a CSV or Parquet file, or any data frame that narwhals knows.

Columns are read one at a time as Arrow arrays, so that a table of many labels never lies in memory twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Column = Any
"""A ``pyarrow.ChunkedArray``; pyarrow has no types for mypy."""

READERS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".parquet": "", ".pq": ""}


ALIASES = {
    "example": (
        "example",
        "task",
        "item",
        "image",
        "instance",
        "object",
        "unit",
        "question",
        "sample",
        "document",
    ),
    "annotator": (
        "annotator",
        "worker",
        "rater",
        "reader",
        "labeler",
        "labeller",
        "performer",
        "user",
        "coder",
    ),
    "label": ("label", "answer", "annotation", "class", "category", "response", "rating", "target", "value"),
}
"""Column names that are recognised, with or without ``_id``, ``_name`` or a plural s, in any case."""


class TableError(ValueError):
    """A table that cannot be read, or lacks a column."""


class Table:
    """Named columns of a file or data frame, read on demand.

    Args:
        source: path to a ``.csv``, ``.tsv`` or ``.parquet`` file; a pandas, polars, pyarrow, modin or cudf data
            frame; or a mapping from column names to sequences.

    Example:
        >>> table = Table({"task": [0, 0, 1], "label": ["cat", "dog", None]})
        >>> table.columns
        ('task', 'label')
        >>> table.column("label").to_pylist()
        ['cat', 'dog', None]
    """

    def __init__(self, source: Any) -> None:
        self.source = Path(source) if isinstance(source, str | Path) else source
        self.name = self.source.name if isinstance(self.source, Path) else "the table"
        self._frame: Any = None
        if isinstance(self.source, Path):
            self.columns = self._open_file(self.source)
        else:
            self._frame = _as_frame(self.source)
            self.columns = tuple(self._frame.columns)
        if len(set(self.columns)) != len(self.columns):
            raise TableError(f"{self.name} has two columns of the same name: {', '.join(self.columns)}")

    def column(self, name: str) -> Column:
        """One column as a ``pyarrow.ChunkedArray``; missing values (empty, NA, NaN, None) are null."""
        import pyarrow as pa

        if name not in self.columns:
            raise TableError(f"{self.name} has no column {name!r}: it has {', '.join(self.columns)}")
        if self._frame is not None:
            array = self._frame.get_column(name).to_arrow()
            column = array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])
        elif self.source.suffix.lower() in (".parquet", ".pq"):
            column = self._parquet_column(name)
        else:
            column = self._read_csv([name]).column(0)
        return _nan_is_null(column)

    def release(self) -> None:
        """Give memory of columns that were read and dropped back to the system; Arrow would keep it for later."""
        import pyarrow as pa

        pa.default_memory_pool().release_unused()

    def __len__(self) -> int:
        return len(self._frame) if self._frame is not None else len(self.column(self.columns[0]))

    def _open_file(self, path: Path) -> tuple[str, ...]:
        import pyarrow as pa

        suffix = path.suffix.lower()
        if suffix not in READERS:
            raise TableError(f"{path} is not a table that can be read: expected a file ending in {', '.join(READERS)}")
        if not path.is_file():
            raise TableError(f"there is no file {path}")
        try:
            if READERS[suffix]:
                return self._csv_header(path)
            import pyarrow.parquet as pq

            return tuple(pq.read_schema(path).names)
        except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
            raise TableError(f"cannot read {path}: {_first_line(error)}") from error

    def _csv_header(self, path: Path) -> tuple[str, ...]:
        from pyarrow import csv

        if path.stat().st_size == 0:
            raise TableError(f"{path} is empty: the first line should name the columns")
        with csv.open_csv(path, parse_options=csv.ParseOptions(delimiter=READERS[path.suffix.lower()])) as reader:
            return tuple(reader.schema.names)

    def _read_csv(self, columns: list[str]) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        options = csv.ConvertOptions(include_columns=columns, strings_can_be_null=True)
        parse = csv.ParseOptions(delimiter=READERS[self.source.suffix.lower()])
        try:
            return csv.read_csv(self.source, parse_options=parse, convert_options=options)
        except (OSError, pa.ArrowException) as error:
            raise TableError(f"cannot read {self.source}: {_first_line(error)}") from error

    def _parquet_column(self, name: str) -> Column:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return pq.read_table(self.source, columns=[name]).column(0)
        except (OSError, pa.ArrowException) as error:
            raise TableError(f"cannot read {self.source}: {_first_line(error)}") from error


def is_category(table: Table, name: str) -> bool:
    """Whether a column is a category (pandas Categorical, polars Enum, Arrow dictionary) with an order of its own."""
    import pyarrow as pa

    if isinstance(table.source, Path):
        if READERS[table.source.suffix.lower()]:
            return False
        import pyarrow.parquet as pq

        return bool(pa.types.is_dictionary(pq.read_schema(table.source).field(name).type))
    import narwhals as nw

    dtype = table._frame.schema[name]
    if isinstance(dtype, nw.Enum):
        return True
    implementation = table._frame.implementation
    return bool(dtype == nw.Categorical and not implementation.is_polars())


def guess_columns(table: Table, given: dict[str, str | None]) -> dict[str, str]:
    """The column for each of example, annotator and label: the one given, or one with a name that is recognised."""
    columns = {}
    for what, name in given.items():
        if name is not None:
            if name not in table.columns:
                raise TableError(f"{table.name} has no column {name!r} for {what}: it has {', '.join(table.columns)}")
            columns[what] = name
            continue
        free = {_stem(column): column for column in reversed(table.columns) if column not in given.values()}
        match = next((free[alias] for alias in ALIASES[what] if alias in free), None)
        if match is None:
            raise TableError(
                f"no column of {table.name} looks like the {what}: pass {what}= one of {', '.join(table.columns)}"
            )
        columns[what] = match
    if len(set(columns.values())) < len(columns):
        raise TableError(f"one column serves twice in {table.name}: {columns}")
    return columns


def _stem(column: str) -> str:
    name = column.strip().lower().replace("-", "_").replace(" ", "_")
    for ending in ("_id", "_name", "id", "s"):
        if name.removesuffix(ending) in {a for aliases in ALIASES.values() for a in aliases}:
            return name.removesuffix(ending)
    return name


def write_table(table: Any, path: Path) -> None:
    """Write a ``pyarrow.Table`` as CSV or Parquet by the ending of ``path``; the file appears whole or not at all."""
    part = path.with_name(path.name + ".part")
    if path.suffix.lower() in (".parquet", ".pq"):
        import pyarrow.parquet as pq

        pq.write_table(table, part)
    elif path.suffix.lower() == ".csv":
        from pyarrow import csv

        csv.write_csv(table, part)
    else:
        raise TableError(f"cannot write {path}: use an ending of .csv or .parquet")
    part.replace(path)


def _as_frame(source: Any) -> Any:
    import narwhals as nw

    if isinstance(source, Mapping):
        import pyarrow as pa

        try:
            source = pa.table({str(k): pa.array(_plain(v), from_pandas=True) for k, v in source.items()})
        except (pa.ArrowException, ValueError) as error:
            raise TableError(f"the columns do not make a table: {_first_line(error)}") from error
    try:
        frame = nw.from_native(source)
    except TypeError as error:
        kind = type(source).__name__
        raise TableError(
            f"a table must be a path to CSV or Parquet, a data frame or a dict of columns, not {kind}"
        ) from error
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _plain(values: Any) -> Sequence[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _nan_is_null(column: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def _first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
