"""Download published data sets: checked, atomic, and harmless to repeat."""

from __future__ import annotations

import hashlib
import http.client
import os
import tarfile
import tempfile
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from truelabel.data.root import data_root
from truelabel.data.sources import SOURCES, Source

Progress = Callable[[str, int, int | None], None]
"""Called with the file's path, the bytes so far and the bytes in all if known."""

_CHUNK = 1 << 18
_PATIENCE = 30.0  # seconds without a byte


class FetchError(OSError):
    """A data set could not be downloaded. The message says from where, why, and what to do instead."""


def fetch(
    name: str,
    root: str | os.PathLike[str] | None = None,
    *,
    sources: Mapping[str, tuple[Source, ...]] = SOURCES,
    progress: Progress | None = None,
) -> tuple[Path, ...]:
    """Download the files of data set ``name``, and unpack those that are ``.tar.gz``.

    A file that is already there and right is left alone. A download gets its name only once it is whole and
    its checksum is right, so an interrupted one is simply started again.

    Args:
        name: a key of ``sources``.
        root: the data root; see :func:`truelabel.data.data_root`.
        sources: what can be downloaded from where.
        progress: called after each piece.

    Returns:
        The files, in the order of ``sources``.

    Raises:
        ValueError: if ``name`` is unknown.
        FetchError: if a file cannot be had, or is wrong everywhere; then nothing of it is left behind.

    Example:
        >>> fetch("imagenet")
        Traceback (most recent call last):
        ValueError: name 'imagenet' is unknown: choose from mnist, fashion_mnist, cifar10, cifar100, svhn
    """
    if name not in sources:
        raise ValueError(f"name {name!r} is unknown: choose from {', '.join(sources)}")
    folder = data_root(root)
    paths = []
    for source in sources[name]:
        path = folder / source.path
        if not _is_right(path, source):
            _download(path, source, progress)
        if path.name.endswith(".tar.gz"):
            _unpack(path)
        paths.append(path)
    return tuple(paths)


def _hasher(source: Source) -> Any:
    return hashlib.new(source.checksum.partition(":")[0], usedforsecurity=False)


def _is_right(path: Path, source: Source) -> bool:
    if not path.is_file() or source.size not in (None, path.stat().st_size):
        return False
    digest = _hasher(source)
    with path.open("rb") as stream:
        while piece := stream.read(_CHUNK):
            digest.update(piece)
    return bool(digest.hexdigest() == source.checksum.partition(":")[2])


def _download(path: Path, source: Source, progress: Progress | None) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FetchError(f"cannot write {path} ({_reason(error)}): pass another root") from error
    part = path.with_name(path.name + ".part")
    failures = []
    try:
        for url in source.urls:
            try:
                _copy(url, part, source, progress)
                part.replace(path)
                return
            except (OSError, http.client.HTTPException) as error:
                if isinstance(error, urllib.error.HTTPError):
                    error.close()
                failures.append(f"{url}: {_reason(error)}")
    finally:
        part.unlink(missing_ok=True)
    raise FetchError(
        f"cannot download {path.name} ({'; '.join(failures)}): check the network, or put the file at {path} yourself"
    )


def _copy(url: str, part: Path, source: Source, progress: Progress | None) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "truelabel"})
    digest, done = _hasher(source), 0
    with urllib.request.urlopen(request, timeout=_PATIENCE) as answer, part.open("wb") as target:
        total = source.size if source.size is not None else answer.length
        while piece := answer.read(_CHUNK):
            done += len(piece)
            if source.size is not None and done > source.size:
                raise FetchError(f"has more than the {source.size} bytes it should have")
            digest.update(piece)
            target.write(piece)
            if progress is not None:
                progress(source.path, done, total)
    if not source.checksum.endswith(f":{digest.hexdigest()}"):
        raise FetchError(f"wrong checksum after {done} bytes ({digest.name} {digest.hexdigest()})")


def _unpack(archive: Path) -> None:
    """Put what is missing beside the archive, each file in one move; what would escape is refused."""
    folder = archive.parent
    try:
        with tarfile.open(archive) as tar:
            if all(_is_there(folder / member.name, member) for member in tar.getmembers()):
                return
            with tempfile.TemporaryDirectory(dir=folder, suffix=".part") as scratch:
                tar.extractall(scratch, filter="data")
                for path in sorted(Path(scratch).rglob("*")):
                    if path.is_file() and not path.is_symlink():
                        target = folder / path.relative_to(scratch)
                        target.parent.mkdir(parents=True, exist_ok=True)
                        path.replace(target)
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise FetchError(f"cannot unpack {archive} ({_reason(error)}): unpack it yourself into {folder}") from error


def _is_there(path: Path, member: tarfile.TarInfo) -> bool:
    return not member.isfile() or (path.is_file() and path.stat().st_size == member.size)


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
