"""Clothing1M (Xiao 2015): a million photographs from shops, labelled by the words round them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from truelabel.checks import check_whole
from truelabel.data.dataset import Dataset
from truelabel.data.folder import inside
from truelabel.data.published_trees import find_tree
from truelabel.data.rasters import read_picture
from truelabel.data.root import missing_data

ClothingSplit = Literal["noisy_train", "clean_train", "clean_val", "clean_test"]
"""The lists that are published; only the first has labels from the words round a photograph."""

MOST_BYTES = 1 << 35
"""More than this is refused unless ``limit`` says that it is meant."""

_CLASSES = (
    "T-Shirt", "Shirt", "Knitwear", "Chiffon", "Sweater", "Hoodie", "Windbreaker", "Jacket", "Downcoat", "Suit",
    "Shawl", "Dress", "Vest", "Underwear",
)  # fmt: skip
_SPLITS = ("noisy_train", "clean_train", "clean_val", "clean_test")
_PLACES = ("clothing1m", "clothing1m/annotations", "Clothing1M", "Clothing1M/annotations", "annotations", ".")
_AUTHORS = "get it from its authors"
_LONGER = 256 / 224  # the shorter side before the crop, in sizes of the crop


def clothing1m(
    split: ClothingSplit,
    root: str | os.PathLike[str] | None = None,
    *,
    size: int = 224,
    limit: int | None = None,
    balanced: bool = False,
) -> Dataset:
    """Photographs of 14 kinds of clothing: 1,000,000 with noisy labels, 47,570 + 14,313 + 10,526 with clean ones.

    The shorter side is brought to 256 pixels and the middle 224 x 224 are cut out, as in Yao 2021 and Englesson 2023;
    for another ``size`` both change alike. **The noisy part does not fit into memory**: at 224 x 224 it takes 150 GB.
    Pass ``limit`` to read the first so many, or a smaller ``size``.

    Expected, with the lists beside ``images/`` or in ``annotations/``:

    ```text
    noisy_train_key_list.txt     one line a file: images/0/17/2019,1345.jpg; and clean_train, clean_val, clean_test
    noisy_label_kv.txt           images/0/17/2019,1345.jpg 5
    clean_label_kv.txt           the same for the others
    images/0/17/2019,1345.jpg
    ```

    Args:
        split: ``"noisy_train"``, ``"clean_train"``, ``"clean_val"`` or ``"clean_test"``.
        root: the folder that holds these, or the data root with them in ``clothing1m/``.
        size: pixels along both sides.
        limit: read the first so many of the list; all by default.
        balanced: read as many of every class, by the labels given: the first of each, ``limit`` in all at most.

    Returns:
        Inputs ``(N, 3, size, size)`` uint8 in the order of the list, 14 named classes.

    Raises:
        MissingDataError: if files are not there; the message names them.
        ValueError: if a list or a photograph is damaged, or the whole would take more than 32 GB.

    Example:
        >>> clothing1m("clean_test", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: clothing1m is not in no-such-folder: expected clean_test_key_list.txt, ...
    """
    if split not in _SPLITS:
        raise ValueError(f"split {split!r} is unknown: pass one of {', '.join(_SPLITS)}")
    check_whole("size", size)
    if limit is not None:
        check_whole("limit", limit)
    listed, labelled = f"{split}_key_list.txt", f"{split.split('_')[0]}_label_kv.txt"
    notes = find_tree(root, _PLACES, listed)
    absent = [file for file in (listed, labelled) if not (notes / file).is_file()]
    if absent:
        raise missing_data("clothing1m", notes, [*absent, "images/"], way_out=_AUTHORS)
    top = notes.parent if notes.name == "annotations" else notes
    names = (notes / listed).read_text(encoding="utf-8").splitlines()[: None if balanced else limit]
    if not names:
        raise ValueError(f"{notes / listed} names no photograph: download it again")
    labels = _labels(notes / labelled, names)
    if balanced:
        kept = _balanced(labels, limit)
        names, labels = [names[row] for row in kept], labels[kept]
    needed = len(names) * 3 * size**2
    if limit is None and needed > MOST_BYTES:
        raise ValueError(
            f"{split} has {len(names)} photographs, {needed / 2**30:.0f} GB at {size} x {size}: "
            "pass limit= to read the first so many, or a smaller size="
        )
    return Dataset(_photographs(top.resolve(), names, size), labels, _CLASSES, "clothing1m")


def _labels(path: Path, names: list[str]) -> npt.NDArray[np.int64]:
    """The class of each photograph, from lines of a name and a number."""
    label_of = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        name, _, label = line.rpartition(" ")
        if not label.isdecimal() or int(label) >= len(_CLASSES):
            raise ValueError(f"line {number} of {path} is {line!r}, not a file and a class in 0..13: download it again")
        label_of[name] = int(label)
    silent = next((name for name in names if name not in label_of), None)
    if silent is not None:
        raise ValueError(f"{path} has no label for {silent}: download it again")
    return np.array([label_of[name] for name in names], np.int64)


def _balanced(labels: npt.NDArray[np.int64], limit: int | None) -> npt.NDArray[np.intp]:
    """Rows of the first of every class, as many of each as there are of the rarest and the limit allows, in order."""
    most = int(np.bincount(labels, minlength=len(_CLASSES)).min())
    each = most if limit is None else min(most, limit // len(_CLASSES))
    if not each:
        raise ValueError(
            f"balanced=True leaves nothing of {len(labels)} photographs with limit={limit}: every class needs one"
        )
    return np.sort(np.concatenate([np.flatnonzero(labels == label)[:each] for label in range(len(_CLASSES))]))


def _photographs(top: Path, names: list[str], size: int) -> npt.NDArray[np.uint8]:
    images = np.empty((len(names), 3, size, size), np.uint8)
    for row, name in enumerate(names):
        try:
            path = inside(top, name)
        except FileNotFoundError as error:
            raise missing_data("clothing1m", top, [name], way_out=_AUTHORS) from error
        images[row] = _middle(read_picture(path, mode="RGB")[0], size)
    return images


def _middle(pixels: npt.NDArray[np.uint8], size: int) -> npt.NDArray[np.uint8]:
    """The shorter side ``(3, H, W)`` brought to size, and a little more, and the middle of that."""
    from PIL import Image

    shorter = round(size * _LONGER)
    height, width = pixels.shape[1:]
    scale = shorter / min(height, width)
    to = (max(shorter, round(width * scale)), max(shorter, round(height * scale)))
    image = Image.fromarray(pixels.transpose(1, 2, 0)).resize(to, Image.Resampling.BILINEAR)
    left, top = (to[0] - size) // 2, (to[1] - size) // 2
    return np.asarray(image.crop((left, top, left + size, top + size)), np.uint8).transpose(2, 0, 1)
