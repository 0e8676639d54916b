"""CIFAR-10N (Wei et al. 2022): what people on Mechanical Turk said that the CIFAR-10 training images show."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truelabel.data.arrays import load_array
from truelabel.data.dataset import Dataset
from truelabel.data.root import data_root, missing_data

Which = Literal["clean", "aggregate", "random1", "random2", "random3", "worst"]
"""The columns: the original labels, three people's, their majority, and a wrong one where any was wrong."""

_COLUMNS: dict[str, str] = {
    "clean": "clean_label",
    "aggregate": "aggre_label",
    "random1": "random_label1",
    "random2": "random_label2",
    "random3": "random_label3",
    "worst": "worse_label",
}  # ours to the names in the published file
_ARRAYS, _PUBLISHED = "cifar-10n.npz", "CIFAR-10_human.pt"
_EXAMPLES, _CLASSES = 50_000, 10


def cifar10n(
    which: Which, root: str | os.PathLike[str] | None = None, *, images: Dataset | None = None
) -> npt.NDArray[np.int64]:
    """One column of human labels for the CIFAR-10 training images. Licence: CC BY-NC 4.0.

    ``random1`` to ``random3`` are columns, not annotators: who gave which label is not published.
    ``aggregate`` and ``worst`` are made from these three (``worst`` with the clean label), so they are no
    further evidence.

    Args:
        which: ``"clean"``, ``"aggregate"``, ``"random1"``, ``"random2"``, ``"random3"`` or ``"worst"``.
        root: the data root, which holds ``cifar-10n.npz`` (one array per column) or ``CIFAR-10_human.pt`` as
            published (read with ``torch.load(weights_only=True)``, so nothing in it can run).
        images: the CIFAR-10 training set that the labels are for, to check that both have the same order.

    Returns:
        ``(50000,)``, classes 0 to 9 in the order of :func:`truelabel.data.cifar10`.

    Raises:
        MissingDataError: if neither file is there.
        ValueError: if a file is damaged, or ``images`` are in another order.

    Example:
        >>> cifar10n("worst", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: cifar10n is not in no-such-folder: expected cifar-10n.npz or ...
    """
    if which not in _COLUMNS:
        raise ValueError(f"which {which!r} is unknown: pass one of {', '.join(_COLUMNS)}")
    folder = data_root(root)
    if (folder / _ARRAYS).is_file():
        path, read = folder / _ARRAYS, _from_arrays
    elif (folder / _PUBLISHED).is_file():
        path, read = folder / _PUBLISHED, _from_published
    else:
        way_out = f"download {_PUBLISHED} from github.com/UCSC-REAL/cifar-10-100n (CC BY-NC 4.0)"
        raise missing_data("cifar10n", folder, [f"{_ARRAYS} or {_PUBLISHED}"], way_out=way_out)
    if images is not None:
        _check_order(_checked(read(path, "clean"), "clean", path), images, path)
    return _checked(read(path, which), which, path)


def _from_arrays(path: Path, which: str) -> npt.NDArray[Any]:
    return load_array(path, which)


def _from_published(path: Path, which: str) -> npt.NDArray[Any]:
    import torch

    # The function that rebuilds an array is private and has moved between versions; an array knows its own.
    rebuild: Callable[..., Any] = np.empty(0).__reduce__()[0]  # type: ignore[assignment]
    safe: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
        (rebuild, "numpy.core.multiarray._reconstruct"),
        (rebuild, "numpy._core.multiarray._reconstruct"),
        np.ndarray,
        np.dtype,
        *(type(np.dtype(code)) for code in ("u1", "i4", "i8")),
    ]
    try:
        with torch.serialization.safe_globals(safe):
            columns = torch.load(path, map_location="cpu", weights_only=True)
    # torch raises whatever its reader met; the first line says it, the rest advises to switch the check off.
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise ValueError(f"{path} cannot be read as plain arrays ({reason}): download it again") from error
    name = _COLUMNS[which]
    if not isinstance(columns, dict) or name not in columns:
        raise ValueError(f"{path} has no column {name!r}: download it again")
    return np.asarray(columns[name])


def _checked(labels: npt.NDArray[Any], which: str, path: Path) -> npt.NDArray[np.int64]:
    if labels.shape != (_EXAMPLES,) or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{which!r} in {path} is {labels.dtype} of shape {labels.shape}, "
            f"not ({_EXAMPLES},) integers: download it again"
        )
    if labels.min() < 0 or labels.max() >= _CLASSES:
        raise ValueError(f"{which!r} in {path} has labels outside 0..{_CLASSES - 1}: download it again")
    return labels.astype(np.int64)


def _check_order(clean: npt.NDArray[np.int64], images: Dataset, path: Path) -> None:
    if len(images) != _EXAMPLES:
        raise ValueError(
            f"images {images.name} has {len(images)} examples but {path} labels the {_EXAMPLES} of the "
            "training set: pass cifar10('train')"
        )
    differ = int((clean != images.labels).sum())
    if differ:
        raise ValueError(
            f"images {images.name} has another label than the clean column of {path} in {differ} rows: "
            "CIFAR-10N follows the order of the official archives and torchvision, TensorFlow Datasets has "
            "an order of its own; pass cifar10('train') or reorder the images"
        )
