"""Columns out of whatever a user calls a table: a CSV or Parquet file, or any data frame that narwhals knows.

Columns are read one at a time as Arrow arrays, so that a table of many labels never lies in memory twice.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Column = Any
"""A ``pyarrow.ChunkedArray``; pyarrow has no types for mypy."""

READERS = {".csv": ",", ".tsv": "\t", ".txt": "\t", ".parquet": "", ".pq": ""}
"""The endings that can be read, with the delimiter of those that are text."""

ALIASES = {
    "example": (
        *("example", "task", "item", "image", "instance", "object", "unit", "question", "sample", "document"),
        *("picture", "file", "filename", "id"),
    ),
    "annotator": (
        *("annotator", "worker", "rater", "reader", "labeler", "labeller", "performer", "user", "coder"),
        *("expert", "person"),
    ),
    "label": ("label", "answer", "annotation", "class", "category", "response", "rating", "target", "verdict", "value"),
}
"""Column names that are recognised, with or without ``_id``, ``_name`` or a plural s, in any case."""


class TableError(ValueError):
    """A table that cannot be read, or lacks a column."""


class Table:
    """Named columns of a file or data frame, read on demand.

    In text files, empty cells and those that say NA, N/A, NaN or null are missing; a quoted cell may hold newlines.

    Args:
        source: path to a ``.csv``, ``.tsv`` or ``.parquet`` file; a pandas, polars, pyarrow, modin or cudf data
            frame; or a mapping from column names to sequences.

    Attributes:
        name: the file's name without its folder, or "the table", for messages.
        columns: names of the columns, in order. They are text, but for a pandas frame that names them otherwise.

    Raises:
        TableError: if there is no such file, it cannot be read, or two columns have the same name.

    Example:
        >>> table = Table({"task": [0, 0, 1], "label": ["cat", "dog", None]})
        >>> table.columns
        ('task', 'label')
        >>> table.column("label").to_pylist()
        ['cat', 'dog', None]
    """

    def __init__(self, source: Any) -> None:
        self.source = Path(source) if isinstance(source, str | os.PathLike) else source
        self.name = self.source.name if isinstance(self.source, Path) else "the table"
        self._frame: Any = None
        if isinstance(self.source, Path):
            self.columns = self._open_file(self.source)
        else:
            self._frame = _as_frame(self.source)
            self.columns = tuple(self._frame.columns)
        if len(set(self.columns)) < len(self.columns):
            twice = next(name for name in self.columns if self.columns.count(name) > 1)
            raise TableError(f"{self.name} has two columns of the same name, {twice!r}: rename one")

    def column(self, name: str) -> Column:
        """One column as a ``pyarrow.ChunkedArray``; missing values (empty, NA, NaN, None) are null."""
        return next(self.read([name]))

    def names(self, name: str) -> Column:
        """A column of names: as :meth:`column`, but text such as 007 stays text in files that do not tell types."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self.column(name)
        untyped = self._frame is None and READERS[self.source.suffix.lower()]
        if not untyped or not pa.types.is_integer(column.type):
            return column
        text = self._read_csv([name], {name: pa.string()}).column(0)
        padded = pc.any(pc.match_substring_regex(text, "^[+-]?0[0-9]")).as_py()
        return text if padded else column

    def texts(self, name: str, *, nulls: bool = False) -> Column:
        """A column as text, as it stands in files that do not tell types: ``007`` and ``1.50`` keep their zeros.

        Args:
            name: of the column.
            nulls: whether cells of text files that say NA, N/A, NaN or null are missing, as in :meth:`column`.
        """
        import pyarrow as pa

        if self._frame is None and READERS[self.source.suffix.lower()] and name in self.columns:
            return self._read_csv([name], {name: pa.string()}, nulls).column(0)
        column = self.column(name)
        try:
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            return column.cast(pa.large_string())
        except pa.ArrowException as error:
            raise TableError(f"column {name!r} of {self.name} is {column.type}, not text: name another") from error

    def text(self, name: str) -> list[str | None]:
        """A column as text: as it stands in a text file, else as Python writes it; None where it is missing."""
        typed = self._frame is not None or not READERS[self.source.suffix.lower()]
        column = self.column(name) if typed else self.texts(name, nulls=True)
        return [None if value is None else _as_text(value) for value in column.to_pylist()]

    def read(self, names: Sequence[str]) -> Iterator[Column]:
        """Several columns, each as :meth:`column` gives it.

        Parquet is read one column at a time. Text is parsed once for all of them, since parsing is what takes long:
        a wide file would be parsed hundreds of times otherwise. Ask for single columns if memory is short.
        """
        known = set(self.columns)
        absent = [name for name in names if name not in known]
        if absent:
            raise TableError(f"{self.name} has no column {absent[0]!r}: it has {listing(self.columns)}")
        if self._frame is not None:
            return (_nan_is_null(self._frame_column(name)) for name in names)
        if READERS[self.source.suffix.lower()]:
            table = self._read_csv(list(dict.fromkeys(names)))
            return (_nan_is_null(table.column(name)) for name in names)
        return map(_nan_is_null, self._parquet_columns(names))

    def release(self) -> None:
        """Give memory of columns that were read and dropped back to the system; Arrow would keep it for later."""
        import pyarrow as pa

        pa.default_memory_pool().release_unused()

    def __len__(self) -> int:
        if self._frame is not None:
            return len(self._frame)
        return len(self.column(self.columns[0])) if self.columns else 0

    def _open_file(self, path: Path) -> tuple[str, ...]:
        import pyarrow as pa

        suffix = path.suffix.lower()
        if suffix not in READERS:
            raise TableError(f"{path} is not a table that can be read: expected a file ending in {', '.join(READERS)}")
        if not path.is_file():
            raise TableError(f"there is no file {path}: check the path")
        try:
            if READERS[suffix]:
                return self._csv_header(path)
            import pyarrow.parquet as pq

            return tuple(pq.read_schema(path).names)
        except UnicodeDecodeError as error:
            raise TableError(f"the header of {path} is not UTF-8 text: save the file as UTF-8") from error
        except (OSError, pa.ArrowException) as error:
            raise TableError(f"cannot read {path}: {_one_line(error)}") from error

    def _csv_header(self, path: Path) -> tuple[str, ...]:
        from pyarrow import csv

        if path.stat().st_size == 0:
            raise TableError(f"{path} is empty: the first line should name the columns")
        with csv.open_csv(path, parse_options=self._parse_options()) as reader:
            return tuple(reader.schema.names)

    def _parse_options(self) -> Any:
        from pyarrow import csv

        return csv.ParseOptions(delimiter=READERS[self.source.suffix.lower()], newlines_in_values=True)

    def _read_csv(self, columns: list[str], types: dict[str, Any] | None = None, nulls: bool = True) -> Any:
        import pyarrow as pa
        from pyarrow import csv

        options = csv.ConvertOptions(include_columns=columns, strings_can_be_null=nulls, column_types=types)
        try:
            table = csv.read_csv(self.source, parse_options=self._parse_options(), convert_options=options)
        except (OSError, pa.ArrowException) as error:
            raise TableError(f"cannot read {self.source}: {_one_line(error)}") from error
        # pyarrow turns text that is not UTF-8 into a column of bytes without a word.
        undecoded = [field.name for field in table.schema if pa.types.is_binary(field.type)]
        if undecoded:
            raise TableError(f"column {undecoded[0]!r} of {self.source} is not UTF-8 text: save the file as UTF-8")
        return table

    def _parquet_columns(self, names: Sequence[str]) -> Iterator[Column]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            # Opened once: the footer describes all columns, and to parse it for each takes minutes in a wide file.
            with pq.ParquetFile(self.source) as file:
                for name in names:
                    # By name, since asking for "a" also reads what "a.b" holds.
                    yield file.read(columns=[name]).column(name)
        except (OSError, pa.ArrowException) as error:
            raise TableError(f"cannot read {self.source}: {_one_line(error)}") from error

    def _frame_column(self, name: str) -> Column:
        import pyarrow as pa

        try:
            array = self._frame.get_column(name).to_arrow()
        except pa.ArrowException as error:
            raise TableError(
                f"column {name!r} of {self.name} is not of one type that Arrow knows: {_one_line(error)}"
            ) from error
        return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def is_category(table: Table, name: str) -> bool:
    """Whether a column is a category (pandas Categorical, polars Enum, Arrow dictionary) with an order of its own.

    A polars Categorical has none: its values come in the order of the rows.
    """
    if isinstance(table.source, Path):
        if READERS[table.source.suffix.lower()]:
            return False
        import pyarrow.parquet as pq

        return _is_ordered(pq.read_schema(table.source).field(name))
    import narwhals as nw

    implementation = table._frame.implementation
    if implementation.is_pyarrow():
        return _is_ordered(table._frame.to_native().schema.field(name))
    dtype = table._frame.schema[name]
    return isinstance(dtype, nw.Enum) or bool(dtype == nw.Categorical and not implementation.is_polars())


def _is_ordered(field: Any) -> bool:
    import pyarrow as pa

    from_polars = any(key.startswith(b"_PL_CATEGORICAL") for key in field.metadata or ())
    return bool(pa.types.is_dictionary(field.type)) and not from_polars


def guess_columns(table: Table, given: dict[str, str | None]) -> dict[str, str]:
    """The column for each of example, annotator and label: the one given, or one with a name that is recognised.

    A table without a column for the annotator has none in the answer: all its labels come from one source.
    """
    columns = {}
    for what, name in given.items():
        if name is not None:
            if name not in table.columns:
                raise TableError(f"{table.name} has no column {name!r} for {what}: it has {listing(table.columns)}")
            columns[what] = name
            continue
        match = looks_like(table, what, {name for name in given.values() if name is not None})
        if match is not None:
            columns[what] = match
        elif what != "annotator":
            wide = "; or wide=True, if each annotator has a column of their own" if what == "label" else ""
            raise TableError(
                f"no column of {table.name} looks like the {what}: pass {what}= one of {listing(table.columns)}{wide}"
            )
    if len(set(columns.values())) < len(columns):
        raise TableError(f"one column serves twice in {table.name}: {columns}")
    return columns


def looks_like(table: Table, what: str, taken: Collection[str] = ()) -> str | None:
    """The column, not among ``taken``, whose name is recognised as example, annotator or label; None without one."""
    free = {_stem(column): column for column in reversed(table.columns) if column not in taken}
    return next((free[alias] for alias in ALIASES[what] if alias in free), None)


def listing(names: Sequence[Any]) -> str:
    """Names of columns in one line; pandas may number its columns."""
    return ", ".join(map(str, names))


def _stem(column: str) -> str:
    name = str(column).strip().lower().replace("-", "_").replace(" ", "_")
    for ending in ("_id", "_name", "id", "s"):
        if name.removesuffix(ending) in {a for aliases in ALIASES.values() for a in aliases}:
            return name.removesuffix(ending)
    return name


def write_table(table: Any, path: Path) -> None:
    """Write a ``pyarrow.Table`` as CSV or Parquet by the ending of ``path``; the file appears whole or not at all."""
    part = path.with_name(path.name + ".part")
    try:
        if path.suffix.lower() in (".parquet", ".pq"):
            import pyarrow.parquet as pq

            pq.write_table(table, part)
        elif path.suffix.lower() == ".csv":
            from pyarrow import csv

            csv.write_csv(table, part)
        else:
            raise TableError(f"cannot write {path}: use an ending of .csv or .parquet")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _as_frame(source: Any) -> Any:
    import narwhals as nw

    if isinstance(source, Mapping):
        import pyarrow as pa

        try:
            arrays = [pa.array(_plain(values), from_pandas=True) for values in source.values()]
            source = pa.Table.from_arrays(arrays, names=[str(name) for name in source])
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise TableError(f"the columns do not make a table: {_one_line(error)}") from error
    try:
        frame = nw.from_native(source)
    except TypeError as error:
        kind = type(source).__name__
        raise TableError(
            f"a table must be a path to CSV or Parquet, a data frame or a dict of columns, not {kind}"
        ) from error
    except ValueError as error:  # DuplicateError in newer versions of narwhals
        raise TableError(f"the table has two columns of the same name: rename one ({_one_line(error)})") from error
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame


def _plain(values: Any) -> Sequence[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _nan_is_null(column: Column) -> Column:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(column.type):
        return column
    return pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)


def _as_text(value: Any) -> str:
    """A number that is whole was an integer before a gap in its column made a fraction of it."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _one_line(error: BaseException) -> str:
    if "straddl" in str(error):  # what Arrow says of a row that does not fit into a block of 1 MB
        return "a row is longer than 1 MB, or a quotation mark is never closed: mend or shorten it"
    return " ".join(str(error).split()) or type(error).__name__
