"""Where data sets lie on this computer, and what to say when one is not there."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path


class MissingDataError(FileNotFoundError):
    """A data set is not under the data root. The message names its files and how to get them."""


def data_root(root: str | os.PathLike[str] | None = None) -> Path:
    r"""The folder that holds data sets: ``root``, else ``$TRUELABEL_DATA``, else the user's cache.

    The cache is ``$XDG_CACHE_HOME/truelabel`` where that is set; otherwise the system's own place:
    ``~/.cache/truelabel``, ``~/Library/Caches/truelabel`` on macOS, ``%LOCALAPPDATA%\truelabel`` on Windows.
    Nothing is created.

    Args:
        root: a folder that takes precedence over all of these.

    Example:
        >>> data_root("pictures").name
        'pictures'
    """
    if root is not None:
        return Path(root).expanduser()
    if named := os.environ.get("TRUELABEL_DATA"):
        return Path(named).expanduser()
    if cache := os.environ.get("XDG_CACHE_HOME"):
        return Path(cache) / "truelabel"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "truelabel"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "truelabel"
    return Path.home() / ".cache" / "truelabel"


def missing_data(name: str, folder: Path, files: Sequence[str], *, way_out: str | None = None) -> MissingDataError:
    """The error for files of data set ``name`` that are not under ``folder``.

    Args:
        name: the data set.
        folder: the data root that was searched.
        files: paths relative to ``folder``; those that may stand for each other are written in one string.
        way_out: how to get them; ``truelabel data fetch`` unless said otherwise.

    Example:
        >>> print(missing_data("mnist", Path("data"), ["MNIST/raw/train-images-idx3-ubyte[.gz]"]))
        mnist is not in data: expected MNIST/raw/train-images-idx3-ubyte[.gz]; `truelabel data fetch mnist`
        downloads it, or set TRUELABEL_DATA to the folder that holds it
    """
    way_out = way_out or f"`truelabel data fetch {name}` downloads it"
    return MissingDataError(
        f"{name} is not in {folder}: expected {', '.join(files)}; {way_out}, "
        "or set TRUELABEL_DATA to the folder that holds it"
    )
