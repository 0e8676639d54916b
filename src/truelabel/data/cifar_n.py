"""CIFAR-10N and CIFAR-100N (Wei et al. 2022): what people on Mechanical Turk said that the CIFAR images show."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from truelabel.data.arrays import load_array
from truelabel.data.dataset import Dataset
from truelabel.data.root import data_root, missing_data

Which = Literal["clean", "aggregate", "random1", "random2", "random3", "worst"]
"""The columns: the original labels, three people's, their majority, and a wrong one where any was wrong."""

_EXAMPLES = 50_000


class _Layout(NamedTuple):
    """One data set of human labels: its files, and its columns by our names for them."""

    name: str
    images: str
    arrays: str
    published: str
    columns: dict[str, str]
    classes: int


_CIFAR10N = _Layout(
    name="cifar10n",
    images="cifar10",
    arrays="cifar-10n.npz",
    published="CIFAR-10_human.pt",
    columns={
        "clean": "clean_label",
        "aggregate": "aggre_label",
        "random1": "random_label1",
        "random2": "random_label2",
        "random3": "random_label3",
        "worst": "worse_label",
    },
    classes=10,
)
_CIFAR100N = _Layout(
    name="cifar100n",
    images="cifar100",
    arrays="cifar-100n.npz",
    published="CIFAR-100_human.pt",
    columns={"clean": "clean_label", "noisy": "noisy_label"},
    classes=100,
)


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
        ``(50000,)``, classes 0 to 9 in the order of :func:`truelabel.data.cifar10`. With ``images`` there may be
        fewer, as many as there are images.

    Raises:
        MissingDataError: if neither file is there.
        ValueError: if a file is damaged, or ``images`` are in another order.

    Example:
        >>> cifar10n("worst", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: cifar10n is not in no-such-folder: expected cifar-10n.npz or ...
    """
    return _column(_CIFAR10N, which, root, images)


def cifar100n(
    which: Literal["clean", "noisy"],
    root: str | os.PathLike[str] | None = None,
    *,
    images: Dataset | None = None,
) -> npt.NDArray[np.int64]:
    """One column of human labels for the CIFAR-100 training images, one person an image. Licence: CC BY-NC 4.0.

    Args:
        which: ``"clean"`` or ``"noisy"``.
        root: the data root, which holds ``cifar-100n.npz`` (one array per column) or ``CIFAR-100_human.pt`` as
            published, as in :func:`truelabel.data.cifar10n`.
        images: the CIFAR-100 training set that the labels are for, to check that both have the same order.

    Returns:
        ``(50000,)``, classes 0 to 99 in the order of :func:`truelabel.data.cifar100`. With ``images`` there may be
        fewer, as many as there are images.

    Raises:
        MissingDataError: if neither file is there.
        ValueError: if a file is damaged, or ``images`` are in another order.

    Example:
        >>> cifar100n("noisy", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: cifar100n is not in no-such-folder: expected cifar-100n.npz or ...
    """
    return _column(_CIFAR100N, which, root, images)


def _column(
    layout: _Layout, which: str, root: str | os.PathLike[str] | None, images: Dataset | None
) -> npt.NDArray[np.int64]:
    if which not in layout.columns:
        raise ValueError(f"which {which!r} is unknown: pass one of {', '.join(layout.columns)}")
    folder = data_root(root)
    if (folder / layout.arrays).is_file():
        path, read = folder / layout.arrays, _from_arrays
    elif (folder / layout.published).is_file():
        path, read = folder / layout.published, _from_published
    else:
        way_out = f"download {layout.published} from github.com/UCSC-REAL/cifar-10-100n (CC BY-NC 4.0)"
        raise missing_data(layout.name, folder, [f"{layout.arrays} or {layout.published}"], way_out=way_out)
    count = _EXAMPLES
    if images is not None:
        clean = read(path, layout, "clean")
        count = clean.size
        _check_order(_checked(clean, layout, "clean", path, count), layout, images, path)
    return _checked(read(path, layout, which), layout, which, path, count)


def _from_arrays(path: Path, layout: _Layout, which: str) -> npt.NDArray[Any]:
    return load_array(path, which)


def _from_published(path: Path, layout: _Layout, which: str) -> npt.NDArray[Any]:
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
    name = layout.columns[which]
    if not isinstance(columns, dict) or name not in columns:
        raise ValueError(f"{path} has no column {name!r}: download it again")
    return np.asarray(columns[name])


def _checked(labels: npt.NDArray[Any], layout: _Layout, which: str, path: Path, count: int) -> npt.NDArray[np.int64]:
    if labels.shape != (count,) or not count or labels.dtype.kind not in "iu":
        raise ValueError(
            f"{which!r} in {path} is {labels.dtype} of shape {labels.shape}, not ({count},) integers: download it again"
        )
    if labels.min() < 0 or labels.max() >= layout.classes:
        raise ValueError(f"{which!r} in {path} has labels outside 0..{layout.classes - 1}: download it again")
    return labels.astype(np.int64)


def _check_order(clean: npt.NDArray[np.int64], layout: _Layout, images: Dataset, path: Path) -> None:
    if len(images) != len(clean):
        raise ValueError(
            f"images {images.name} has {len(images)} examples but {path} labels the {len(clean)} of the "
            f"training set: pass {layout.images}('train')"
        )
    differ = int((clean != images.labels).sum())
    if differ:
        raise ValueError(
            f"images {images.name} has another label than the clean column of {path} in {differ} rows: "
            "human labels follow the order of the official archives and torchvision, TensorFlow Datasets has "
            f"an order of its own; pass {layout.images}('train') or reorder the images"
        )
