"""CIFAR-10 and CIFAR-100 (Krizhevsky 2009), from the binary or the Python version of its archives."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from truelabel.data.dataset import Dataset, Split, check_split
from truelabel.data.plain_pickle import read_plain_pickle
from truelabel.data.root import data_root, missing_data

_PIXELS = 3 * 32 * 32


class _Layout(NamedTuple):
    """How one data set stores its labels, in both versions of its archive."""

    name: str
    binary_folder: str
    python_folder: str
    binary_batches: dict[Split, list[str]]
    python_batches: dict[Split, list[str]]
    binary_classes: str
    python_meta: str
    python_classes: str
    python_labels: str
    label_bytes: int  # of each binary record, before the pixels
    label_at: int  # which of them is the label


_CIFAR10_BATCHES: dict[Split, list[str]] = {
    "train": [f"data_batch_{i}" for i in range(1, 6)],
    "test": ["test_batch"],
}
_CIFAR10 = _Layout(
    name="cifar10",
    binary_folder="cifar-10-batches-bin",
    python_folder="cifar-10-batches-py",
    binary_batches={split: [f"{file}.bin" for file in files] for split, files in _CIFAR10_BATCHES.items()},
    python_batches=_CIFAR10_BATCHES,
    binary_classes="batches.meta.txt",
    python_meta="batches.meta",
    python_classes="label_names",
    python_labels="labels",
    label_bytes=1,
    label_at=0,
)
_CIFAR100 = _Layout(
    name="cifar100",
    binary_folder="cifar-100-binary",
    python_folder="cifar-100-python",
    binary_batches={"train": ["train.bin"], "test": ["test.bin"]},
    python_batches={"train": ["train"], "test": ["test"]},
    binary_classes="fine_label_names.txt",
    python_meta="meta",
    python_classes="fine_label_names",
    python_labels="fine_labels",
    label_bytes=2,
    label_at=1,
)
_CIFAR100_COARSE = _CIFAR100._replace(
    binary_classes="coarse_label_names.txt",
    python_classes="coarse_label_names",
    python_labels="coarse_labels",
    label_at=0,
)


def cifar10(split: Split, root: str | os.PathLike[str] | None = None) -> Dataset:
    """Photographs of ten kinds of things: 50,000 to train on, 10,000 to test on.

    Both versions hold the images in the same order, which is also that of torchvision and of CIFAR-10N.

    Args:
        split: ``"train"`` or ``"test"``.
        root: the data root, which holds ``cifar-10-batches-bin/`` or ``cifar-10-batches-py/``.

    Returns:
        Inputs ``(N, 3, 32, 32)`` uint8, ten named classes.

    Raises:
        MissingDataError: if neither version is there in full.
        ValueError: if a file is damaged.

    Example:
        >>> cifar10("train", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: cifar10 is not in no-such-folder: expected ...
    """
    return _load(_CIFAR10, split, root)


def cifar100(
    split: Split,
    root: str | os.PathLike[str] | None = None,
    *,
    labels: Literal["fine", "coarse"] = "fine",
) -> Dataset:
    """Photographs of 100 kinds of things in 20 groups: 50,000 to train on, 10,000 to test on.

    Args:
        split: ``"train"`` or ``"test"``.
        root: the data root, which holds ``cifar-100-binary/`` or ``cifar-100-python/``.
        labels: ``"fine"`` for the 100 classes, ``"coarse"`` for the 20 groups.

    Returns:
        Inputs ``(N, 3, 32, 32)`` uint8, named classes.

    Raises:
        MissingDataError: if neither version is there in full.
        ValueError: if a file is damaged.

    Example:
        >>> cifar100("test", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: cifar100 is not in no-such-folder: expected ...
    """
    layouts = {"fine": _CIFAR100, "coarse": _CIFAR100_COARSE}
    if labels not in layouts:
        raise ValueError(f"labels {labels!r} is unknown: pass 'fine' or 'coarse'")
    return _load(layouts[labels], split, root)


def _load(layout: _Layout, split: Split, root: str | os.PathLike[str] | None) -> Dataset:
    check_split(split)
    folder = data_root(root)
    binary = [f"{layout.binary_folder}/{file}" for file in layout.binary_batches[split]]
    python = [f"{layout.python_folder}/{file}" for file in layout.python_batches[split]]
    binary_classes = f"{layout.binary_folder}/{layout.binary_classes}"
    python_meta = f"{layout.python_folder}/{layout.python_meta}"
    if all((folder / file).is_file() for file in [*binary, binary_classes]):
        batches = [_binary_batch(folder / file, layout) for file in binary]
        classes = tuple((folder / binary_classes).read_text(encoding="utf-8").split())
    elif all((folder / file).is_file() for file in [*python, python_meta]):
        batches = [_python_batch(folder / file, layout) for file in python]
        classes = tuple(_entry(read_plain_pickle(folder / python_meta), layout.python_classes, folder / python_meta))
    else:
        either = f"{_join([*binary, binary_classes])} or {_join([*python, python_meta])}"
        raise missing_data(layout.name, folder, [either])
    images, labels = (np.concatenate(parts) for parts in zip(*batches, strict=True))
    return Dataset(images.reshape(-1, 3, 32, 32), labels.astype(np.int64), classes, layout.name)


def _binary_batch(path: Path, layout: _Layout) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
    record = layout.label_bytes + _PIXELS
    size = path.stat().st_size
    if size == 0 or size % record:
        raise ValueError(f"{path} has {size} bytes, which is no multiple of {record}: download it again")
    records = np.fromfile(path, np.uint8).reshape(-1, record)
    return records[:, layout.label_bytes :], records[:, layout.label_at]


def _python_batch(path: Path, layout: _Layout) -> tuple[npt.NDArray[np.uint8], npt.NDArray[Any]]:
    content = read_plain_pickle(path)
    images, labels = _entry(content, "data", path), np.asarray(_entry(content, layout.python_labels, path))
    if not isinstance(images, np.ndarray) or images.dtype != np.uint8 or images.shape[1:] != (_PIXELS,):
        raise ValueError(f"'data' in {path} is not (N, {_PIXELS}) uint8: download it again")
    if labels.dtype.kind not in "iu" or labels.shape != images.shape[:1]:
        raise ValueError(f"{layout.python_labels!r} in {path} is not one integer per image: download it again")
    return images, labels


def _entry(content: object, key: str, path: Path) -> Any:
    if not isinstance(content, dict) or key not in content:
        raise ValueError(f"{path} has no entry {key!r}: download it again")
    return content[key]


def _join(files: list[str]) -> str:
    folder = files[0].split("/")[0]
    return f"{folder}/{{{','.join(file.split('/')[1] for file in files)}}}"
