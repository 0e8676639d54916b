"""Tables: CSV, TSV, Parquet or any data frame, and the feature matrix in one."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import narwhals as nw

_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_PARQUET = (".parquet", ".pq")


def read_frame(source: Any) -> nw.DataFrame[Any]:
    r"""Read a table, or wrap a data frame (pandas, polars, pyarrow, or whatever else narwhals knows).

    In CSV and TSV, empty cells and those that say NA, N/A, NaN or null are missing, in columns of text too.

    Args:
        source: a path that ends in .csv, .tsv, .parquet or .pq, or a data frame.

    Returns:
        A narwhals data frame with at least one row.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file cannot be read, its ending is unknown, or the table has no rows.
        TypeError: if ``source`` is neither a path nor a data frame.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "labels.csv")
        ...     _ = path.write_text("task,label\n7,cat\n8,\n")
        ...     read_frame(path).to_dict(as_series=False)
        {'task': [7, 8], 'label': ['cat', None]}
    """
    import narwhals as nw

    is_path = isinstance(source, str | os.PathLike)
    name = str(source) if is_path else f"the {type(source).__name__}"
    native = _read_file(Path(source)) if is_path else source
    try:
        frame = nw.from_native(native)
        columns = frame.columns if isinstance(frame, nw.DataFrame) else frame.collect_schema().names()
    except TypeError as error:
        raise TypeError(
            f"source is a {type(source).__name__}: pass a path to CSV, TSV or Parquet, or a data frame"
        ) from error
    except nw.exceptions.DuplicateError as error:
        raise ValueError(f"{name} has two columns of one name ({_one_line(error)}): rename one") from error
    eager: nw.DataFrame[Any] = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    if not columns or len(eager) == 0:
        raise ValueError(f"{name} has no rows: pass a table with at least one")
    return eager


def _read_file(path: Path) -> Any:
    ending = path.suffix.lower()
    if ending not in (*_DELIMITERS, *_PARQUET):
        raise ValueError(f"{path} ends in {ending or 'nothing'!r}: pass .csv, .tsv or .parquet")
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: check the path")
    import pyarrow as pa

    try:
        if ending in _PARQUET:
            import pyarrow.parquet as pq

            return pq.read_table(path)
        from pyarrow import csv

        table = csv.read_csv(
            path,
            parse_options=csv.ParseOptions(delimiter=_DELIMITERS[ending], newlines_in_values=True),
            convert_options=csv.ConvertOptions(strings_can_be_null=True),
        )
        # pyarrow turns text that is not UTF-8 into a column of bytes without a word.
        kinds = zip(table.column_names, table.schema.types, strict=True)
        undecoded = [name for name, kind in kinds if pa.types.is_binary(kind)]
    except (pa.ArrowException, ValueError, OSError) as error:
        if path.stat().st_size == 0:
            raise ValueError(f"{path} has no rows: it is empty") from error
        raise ValueError(f"{path} cannot be read ({_one_line(error)}): fix or replace the file") from error
    if undecoded:
        raise ValueError(f"column {undecoded[0]!r} of {path} is not UTF-8 text: save the file as UTF-8")
    return table


@dataclass(frozen=True, eq=False)
class Features:
    """The feature matrix in a table.

    Attributes:
        inputs: ``(N, F)`` float32, all finite.
        columns: ``(F,)``, the names of the features.
        ids: ``(N,)``, the name of each example; its position where the table has no column for it.
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
    """The numeric and boolean columns of a table as one matrix. Rows are counted from 0 in messages.

    Args:
        source: what :func:`read_frame` accepts.
        columns: the features, in this order; all columns but ``drop`` and ``id`` if left out.
        drop: columns to leave out.
        id: the column that names each example; its values must differ.

    Raises:
        ValueError: for a column that is not there or not numeric, a value that is missing or not finite, an
            id that occurs twice, or a table without rows.

    Example:
        >>> import pyarrow as pa
        >>> table = pa.table({"name": ["a", "b"], "height": [1.5, 2.5], "adult": [True, False]})
        >>> feature_table(table, id="name")
        Features(inputs=array([[1.5, 1. ],
               [2.5, 0. ]], dtype=float32), columns=('height', 'adult'), ids=('a', 'b'))
    """
    frame = read_frame(source)
    for argument, names in (("columns", columns or ()), ("drop", drop), ("id", () if id is None else (id,))):
        if isinstance(names, str):
            raise TypeError(f"{argument} is the text {names!r}: pass a list of names, [{names!r}]")
        for name in names:
            if name not in frame.columns:
                raise ValueError(f"{argument} names {name!r}, which is not there: choose from {_list(frame.columns)}")
    wanted = frame.columns if columns is None else columns
    chosen = [name for name in wanted if name not in drop and name != id]
    if not chosen:
        raise ValueError(f"no feature column is left of {_list(frame.columns)}: drop fewer or name columns=")
    inputs = np.empty((len(frame), len(chosen)), np.float32)
    for place, name in enumerate(chosen):
        inputs[:, place] = _numbers(frame.get_column(name))
    ids = tuple(range(len(frame))) if id is None else _unique(frame.get_column(id))
    return Features(inputs, tuple(map(str, chosen)), ids)


def _numbers(column: nw.Series[Any]) -> npt.NDArray[np.float32]:
    import narwhals as nw

    if not column.dtype.is_numeric() and column.dtype != nw.Boolean:
        raise ValueError(
            f"column {column.name!r} is {column.dtype}, not numeric: leave it out with drop= or name columns="
        )
    missing = np.flatnonzero(column.is_null().to_numpy())
    if missing.size:
        raise ValueError(f"column {column.name!r} has no value in row {missing[0]}: fill it in or drop the row")
    values = np.asarray(column.cast(nw.Float64).to_numpy(), np.float64)
    with np.errstate(over="ignore"):  # what becomes infinite is refused below
        single = values.astype(np.float32)
    wrong = np.flatnonzero(~np.isfinite(single))
    if wrong.size:
        raise ValueError(
            f"column {column.name!r} has {values[wrong[0]]} in row {wrong[0]}, "
            "which is not a finite float32: fix the value or drop the row"
        )
    return single


def _unique(column: nw.Series[Any]) -> tuple[Hashable, ...]:
    ids = tuple(column.to_list())
    first: dict[Hashable, int] = {}
    for row, value in enumerate(ids):
        if value is None or value != value:
            raise ValueError(f"id column {column.name!r} has no value in row {row}: fill it in or drop the row")
        if first.setdefault(value, row) != row:
            raise ValueError(
                f"id {value!r} of column {column.name!r} is in rows {first[value]} and {row}: make them differ"
            )
    return ids


def _list(names: Sequence[str]) -> str:
    return ", ".join(map(str, names))  # pandas may number its columns


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
