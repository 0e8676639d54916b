"""What examples, annotators and pictures of other tools are called, and whether such a name is safe to use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from truelabel.data.exchange.entries import ExchangeError

_UPLOADED = re.compile(r"^[0-9a-f]{8}-(?=.)")
"""What Label Studio puts before the name of a file that is uploaded."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


def safe_name(name: str, where: str) -> str:
    """The name, if as a path it stays below the folder that it is put to.

    Args:
        name: of an example, a picture or a reader.
        where: the entry it comes from, for messages.

    Raises:
        ExchangeError: if it climbs (``../x``), is absolute (``/x``, ``C:x``), empty or no text that can be written.

    Example:
        >>> safe_name("ward 3/scan.png", "task 1")
        'ward 3/scan.png'
        >>> safe_name("../../etc/passwd", "task 2")
        Traceback (most recent call last):
        truelabel.data.exchange.entries.ExchangeError: task 2 names '../../etc/passwd', which leads out of the data ...
    """
    if not name.strip() or _CONTROL.search(name):
        raise ExchangeError(f"{where} has the name {ascii(name)[:60]}, which is empty or no plain text: rename it")
    parts = PureWindowsPath(name)  # splits at both kinds of slash
    if ".." in parts.parts or parts.drive or parts.root or PurePosixPath(name).is_absolute():
        raise ExchangeError(f"{where} names {name[:200]!r}, which leads out of the data folder: rename it")
    return name


def picture_name(reference: str, where: str) -> str:
    """The name of a picture in its folder, from what a tool calls it: a path, or an address.

    - ``/data/local-files/?d=ward/a.png`` (Label Studio, local storage) is ``ward/a.png``;
    - ``/data/upload/3/0f3a9c21-a.png`` (Label Studio, uploaded) is ``a.png``;
    - ``s3://bucket/ward/a.png`` is ``ward/a.png``, and so for other stores;
    - ``https://host/ward/a.png`` is ``a.png``;
    - everything else is a path already.

    Example:
        >>> picture_name("/data/upload/3/0f3a9c21-a%20b.png", "task 1")
        'a b.png'
    """
    try:
        parts = urlsplit(reference)
        local = parse_qs(parts.query).get("d", [""])[0] if "local-files" in parts.path else ""
    except ValueError as error:
        raise ExchangeError(f"{where} has an address that cannot be read ({error}): export it again") from error
    if local:
        name = local
    elif parts.path.startswith("/data/upload/"):
        name = _UPLOADED.sub("", unquote(parts.path.rsplit("/", 1)[-1]))
    elif parts.scheme in ("http", "https"):
        name = unquote(parts.path.rsplit("/", 1)[-1])
    elif parts.netloc and parts.scheme:
        name = unquote(parts.path.lstrip("/"))
    else:
        name = reference
    return safe_name(name, where)


def plain_name(value: Any, where: str) -> str | int:
    """A name of an example or annotator: safe text, or a whole number."""
    if isinstance(value, int) and not isinstance(value, bool):
        if abs(value) >= 1 << 62:
            raise ExchangeError(f"{where} has a name of {len(str(abs(value)))} digits: rename it")
        return value
    if not isinstance(value, str):
        raise ExchangeError(f"{where} has a name that is neither text nor a whole number: export it again")
    return safe_name(value, where)


def alike(names: Iterable[str | int]) -> list[Any]:
    """Names of one type: numbers if all are, else text."""
    given = list(names)
    return given if all(isinstance(name, int) for name in given) else [str(name) for name in given]


def as_numbers(names: Sequence[str]) -> list[Any]:
    """Names as numbers, if all of them are whole numbers as one writes these."""
    plain = all(re.fullmatch(r"0|-?[1-9]\d{0,17}", name) for name in names)
    return [int(name) for name in names] if plain else list(names)


def stems(files: Sequence[Path]) -> list[str]:
    """The names of files without ending, one annotator each; two alike are an error."""
    found = [safe_name(file.stem, f"file {file.name}") for file in files]
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise ExchangeError(f"two files are called {twice!r}, and files are annotators: rename one")
    return found
