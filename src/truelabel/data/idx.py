"""IDX files, the format of MNIST, and the two data sets that come in it."""

from __future__ import annotations

import gzip
import math
import os
import zlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from truelabel.data.dataset import Dataset, Split, check_split
from truelabel.data.root import data_root, missing_data

_ELEMENTS = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CHUNK = 1 << 20
_MOST_DIMENSIONS = 32  # what every supported numpy can hold

_DIGITS = tuple(range(10))
_CLOTHES = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip


def read_idx(path: str | os.PathLike[str]) -> npt.NDArray[Any]:
    """Read one IDX file, plain or gzip (told by its content, not by its name).

    The header is two zero bytes, the element type, the number of dimensions, and one big-endian 32-bit size
    each; the elements follow, the last dimension fastest.

    Args:
        path: the file.

    Returns:
        An array of the stored shape; uint8, int8, int16, int32, float32 or float64 in native byte order.

    Raises:
        ValueError: if the file is not IDX, or has fewer or more bytes than its header says.

    Example:
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "labels-idx1-ubyte")
        ...     _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
        ...     read_idx(path)
        array([7, 2, 1], dtype=uint8)
    """
    path = Path(path)
    with path.open("rb") as plain:
        zipped = plain.read(2) == b"\x1f\x8b"
        plain.seek(0)
        if not zipped:
            return _parse(plain, path)
        try:
            with gzip.GzipFile(fileobj=plain) as stream:
                return _parse(stream, path)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{path} is a damaged gzip file ({error}): download it again") from error


class _Stream(Protocol):
    def read(self, size: int, /) -> bytes: ...


def _parse(stream: _Stream, path: Path) -> npt.NDArray[Any]:
    magic = _read(stream, 4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in _ELEMENTS:
        raise ValueError(f"{path} is not an IDX file (it starts with {magic.hex(' ') or 'nothing'})")
    if not 1 <= magic[3] <= _MOST_DIMENSIONS:
        raise ValueError(f"{path} has {magic[3]} dimensions: an IDX file has 1 to {_MOST_DIMENSIONS}")
    header = _read(stream, 4 * magic[3])
    if len(header) < 4 * magic[3]:
        raise ValueError(f"{path} ends inside its header: download it again")
    shape = tuple(np.frombuffer(header, ">u4").tolist())
    stored = np.dtype(_ELEMENTS[magic[2]])
    size = math.prod(shape) * stored.itemsize
    content = _read(stream, size + 1)
    if len(content) != size:
        found = "more" if len(content) > size else f"only {len(content)}"
        raise ValueError(f"{path} should hold {size} bytes for shape {shape} but has {found}: download it again")
    return np.frombuffer(content, stored).reshape(shape).astype(stored.newbyteorder("="), copy=False)


def _read(stream: _Stream, count: int) -> bytearray:
    # In pieces, because one read of what a damaged header asks for would allocate it all at once.
    content = bytearray()
    while len(content) < count and (piece := stream.read(min(_CHUNK, count - len(content)))):
        content += piece
    return content


def mnist(split: Split, root: str | os.PathLike[str] | None = None) -> Dataset:
    """Handwritten digits (LeCun, Cortes, Burges): 60,000 to train on, 10,000 to test on.

    Args:
        split: ``"train"`` or ``"test"``.
        root: the data root, which holds ``MNIST/raw/train-images-idx3-ubyte[.gz]`` and so on.

    Returns:
        Inputs ``(N, 1, 28, 28)`` uint8, classes 0 to 9.

    Raises:
        MissingDataError: if the files are not there.

    Example:
        >>> mnist("train", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: mnist is not in no-such-folder: expected ...
    """
    return _pair("mnist", "MNIST", _DIGITS, split, root)


def fashion_mnist(split: Split, root: str | os.PathLike[str] | None = None) -> Dataset:
    """Pictures of clothes (Xiao, Rasul, Vollgraf 2017), in the sizes of MNIST.

    Args:
        split: ``"train"`` or ``"test"``.
        root: the data root, which holds ``FashionMNIST/raw/train-images-idx3-ubyte[.gz]`` and so on.

    Returns:
        Inputs ``(N, 1, 28, 28)`` uint8, ten named classes.

    Raises:
        MissingDataError: if the files are not there.

    Example:
        >>> fashion_mnist("test", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: fashion_mnist is not in no-such-folder: expected ...
    """
    return _pair("fashion_mnist", "FashionMNIST", _CLOTHES, split, root)


def _pair(
    name: str,
    folder: str,
    classes: tuple[str | int, ...],
    split: Split,
    root: str | os.PathLike[str] | None,
) -> Dataset:
    check_split(split)
    part = "train" if split == "train" else "t10k"
    files = [f"{folder}/raw/{part}-images-idx3-ubyte", f"{folder}/raw/{part}-labels-idx1-ubyte"]
    images_at, labels_at = (_plain_or_gzip(data_root(root), file) for file in files)
    if images_at is None or labels_at is None:
        raise missing_data(name, data_root(root), [f"{file}[.gz]" for file in files])
    images, labels = read_idx(images_at), read_idx(labels_at)
    if images.dtype != np.uint8 or images.shape[1:] != (28, 28):
        raise ValueError(
            f"{images_at} holds {images.dtype} of shape {images.shape}, not (N, 28, 28) uint8: download it again"
        )
    return Dataset(images[:, None], labels.astype(np.int64), classes, name)


def _plain_or_gzip(root: Path, file: str) -> Path | None:
    return next((path for path in (root / file, root / f"{file}.gz") if path.is_file()), None)
