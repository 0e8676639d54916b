"""Read a pickle of plain arrays and containers without running anything that it contains."""

from __future__ import annotations

import math
import os
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


class _StoredType:
    """Stands in for ``numpy.dtype``: numpy never parses a state that a stranger wrote."""

    def __init__(self, code: str, *_: object) -> None:
        if not re.fullmatch("[biuf][1248]", code):
            raise pickle.UnpicklingError(f"it holds an array of type {code!r}")
        self.dtype = np.dtype(code)

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.dtype = self.dtype.newbyteorder(state[1])


class _StoredArray:
    """Stands in for ``numpy.ndarray``; :func:`_plain` turns it into one."""

    array: npt.NDArray[Any]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        _, shape, stored, fortran, content = state
        if isinstance(content, str):  # Python 2 wrote bytes as text
            content = content.encode("latin1")
        dtype = stored.dtype
        if len(content) != math.prod(shape) * dtype.itemsize:
            raise pickle.UnpicklingError("it holds an array whose size is not that of its content")
        values = np.frombuffer(content, dtype).reshape(shape, order="F" if fortran else "C")
        self.array = values.astype(dtype.newbyteorder("="))


def _reconstruct(*_: object) -> _StoredArray:
    return _StoredArray()


def _encode(text: str, encoding: str = "latin1") -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"it asks for the codec {encoding!r}")
    return text.encode("latin1")


_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): _StoredArray,
    ("numpy", "dtype"): _StoredType,
    ("_codecs", "encode"): _encode,
}


class _PlainUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return _ALLOWED[module, name]


def read_plain_pickle(path: str | os.PathLike[str]) -> Any:
    """Read a pickle that holds only dicts, lists, tuples, strings, bytes, numbers and arrays of numbers.

    A pickle is a program: loading it may run any code. This reader knows five names, those by which a numpy
    array is stored, and answers each with a stand-in of its own; every other name is refused before anything
    runs.

    Args:
        path: the file; Python 2 pickles, as of CIFAR, are read with text as latin-1.

    Returns:
        The content, arrays in native byte order.

    Raises:
        ValueError: if the file is no pickle, is damaged, or holds anything else.

    Example:
        >>> import pathlib, pickle, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "batches.meta")
        ...     _ = path.write_bytes(pickle.dumps({"label_names": ["cat", "dog"]}))
        ...     read_plain_pickle(path)
        {'label_names': ['cat', 'dog']}
    """
    with Path(path).open("rb") as stream:
        try:
            return _plain(_PlainUnpickler(stream, encoding="latin1").load(), {})
        # A damaged or hostile pickle can fail in any way at all; none of them is the caller's fault.
        except Exception as error:
            raise ValueError(
                f"{path} is refused, {_one_line(error)}: "
                "only a pickle of plain arrays, text, numbers, lists and dicts is read"
            ) from error


def _plain(value: Any, seen: dict[int, Any]) -> Any:
    if isinstance(value, _StoredArray):
        return value.array
    if value is None or isinstance(value, str | bytes | bool | int | float):
        return value
    if not isinstance(value, dict | list | tuple):
        raise pickle.UnpicklingError(f"it holds a {type(value).__name__}")
    # A container met twice is turned once, or a few bytes of nested references could grow without bound.
    if id(value) not in seen:
        if isinstance(value, dict):
            seen[id(value)] = {key: _plain(item, seen) for key, item in value.items()}
        else:
            seen[id(value)] = type(value)(_plain(item, seen) for item in value)
    return seen[id(value)]


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
