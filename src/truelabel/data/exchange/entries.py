"""Entries of other tools' files: read without trust, with one-line errors that say which entry is wrong."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One file, or several."""


class ExchangeError(ValueError):
    """A file of another tool that is damaged, or holds something that cannot be read."""


def several(paths: Paths) -> list[Path]:
    """The files named, or a one-line error if one is not there."""
    named = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [Path(path) for path in named]
    if not files:
        raise ExchangeError("no file is named: name at least one")
    absent = next((file for file in files if not file.is_file()), None)
    if absent is not None:
        raise FileNotFoundError(f"there is no file {absent}: check the path")
    return files


def read_text(path: Path) -> str:
    """A text file in UTF-8, with or without its mark."""
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExchangeError(f"{path.name} is not UTF-8 text (byte {error.start}): export it again") from error


def read_json(path: Path) -> Any:
    """A JSON file. Names that stand twice in an object, NaN and infinity are damage, not data.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "a.json")
        ...     _ = file.write_text('{"7": {"ann": 1, "ann": 2}}')
        ...     read_json(file)
        Traceback (most recent call last):
        truelabel.data.exchange.entries.ExchangeError: a.json is damaged ('ann' stands twice in one object): ...
    """
    return _parsed(read_text(path), path.name)


def read_json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Where each entry stands, for messages, and the entry: one JSON value a line, empty lines apart."""
    for number, line in enumerate(read_text(path).split("\n"), 1):
        if line.strip():
            where = f"line {number} of {path.name}"
            yield where, _parsed(line, where)


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_each_once, parse_constant=_refuse_constant)
    except RecursionError:
        raise ExchangeError(f"{where} is damaged (nested too deeply): export it again") from None
    except ValueError as error:
        reason = " ".join(str(error).split())
        raise ExchangeError(f"{where} is damaged ({reason}): export it again") from error


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice[:40]!r} stands twice in one object")
    return entry


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def as_object(value: Any, where: str) -> dict[str, Any]:
    """The value if it is an object."""
    if not isinstance(value, dict):
        raise ExchangeError(f"{where} is {_kind(value)}, not an object: export it again")
    return value


def as_list(value: Any, where: str) -> list[Any]:
    """The value if it is a list."""
    if not isinstance(value, list):
        raise ExchangeError(f"{where} is {_kind(value)}, not a list: export it again")
    return value


def as_whole(value: Any, where: str, least: int = 0) -> int:
    """The value if it is a whole number of at least ``least``; 3.0 is one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ExchangeError(f"{where} is {_shown(value)}, not a whole number of at least {least}: export it again")
    return value


def as_number(value: Any, where: str) -> float:
    """The value if it is a finite number that a picture can have as a coordinate."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < 1e9 or math.isnan(value):
        raise ExchangeError(f"{where} is {_shown(value)}, not a coordinate: export it again")
    return float(value)


def entry(value: dict[str, Any], key: str, where: str) -> Any:
    """What an object has under a key, or an error if it has nothing."""
    if value.get(key) is None:
        raise ExchangeError(f"{where} has no {key!r}: export it again with it")
    return value[key]


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(value: Any) -> str:
    return _kind(value) if isinstance(value, dict | list | None) else ascii(value)[:40]
