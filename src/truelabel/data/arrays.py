"""Arrays from .npy and .npz files, never pickles."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_NPY, _ZIP = b"\x93NUMPY", b"PK"

MOST_BYTES, MOST_RATIO = 1 << 32, 200
"""A packed array that grows beyond both, in bytes and times its size in the file, is refused as a bomb."""


def load_array(path: str | os.PathLike[str], key: str | None = None) -> npt.NDArray[Any]:
    """Load one array from a ``.npy`` or ``.npz`` file (told by its content, not by its name).

    Args:
        path: the file.
        key: which array of a ``.npz`` file; not needed where there is only one.

    Returns:
        The array as stored.

    Raises:
        FileNotFoundError: if there is no such file.
        ValueError: if the file is of another kind, damaged, or holds pickled objects, or has no such key.

    Example:
        >>> import numpy as np, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "both.npz")
        ...     np.savez(path, train=np.arange(3), test=np.arange(2))
        ...     load_array(path, "test")
        array([0, 1])
    """
    path = Path(path)
    try:
        with path.open("rb") as stream:
            start = stream.read(6)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} does not exist: check the path") from None
    if start != _NPY and not start.startswith(_ZIP):
        raise ValueError(f"{path} is not a .npy or .npz file: save the array with numpy.save")
    if start == _NPY:
        if key is not None:
            raise ValueError(f"key {key!r} is for .npz files, but {path} holds a single array: leave key out")
        return _load(path, None)
    try:
        with zipfile.ZipFile(path) as archive:
            keys = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            for member in archive.infolist():
                _refuse_bomb(path, member)
    except zipfile.BadZipFile as error:
        raise ValueError(f"{path} is a damaged .npz file ({error}): save or download it again") from error
    there = ", ".join(keys) or "nothing"
    if key is None and len(keys) != 1:
        raise ValueError(f"{path} holds {len(keys)} arrays: pass key= one of {there}")
    if key is not None and key not in keys:
        raise ValueError(f"{path} has no array {key!r}: it holds {there}")
    return _load(path, keys[0] if key is None else key)


def _refuse_bomb(path: Path, member: zipfile.ZipInfo) -> None:
    """Raise a one-line ValueError if a member promises to grow absurdly, before anything is unpacked."""
    if member.file_size > max(MOST_BYTES, MOST_RATIO * member.compress_size):
        raise ValueError(
            f"{member.filename!r} in {path} is absurdly large ({member.file_size} bytes from {member.compress_size}): "
            "save it with numpy.save, or raise truelabel.data.arrays.MOST_BYTES if you trust it"
        )


def _load(path: Path, key: str | None) -> npt.NDArray[Any]:
    what = f"{key!r} in {path}" if key else f"{path}"
    try:
        content = np.load(path, allow_pickle=False)
        if key is not None:
            with content as arrays:
                content = arrays[key]
        if not isinstance(content, np.ndarray):  # numpy hands out a member that is no array as raw bytes
            raise ValueError("it is no array")
        return content
    # Damage shows as any of these, and a damaged header as a shape too large for memory.
    except (ValueError, EOFError, OSError, MemoryError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            raise ValueError(
                f"{what} holds pickled objects, which can run code when loaded: save it as an array of numbers or text"
            ) from error
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{what} is damaged ({reason}): save or download it again") from error
