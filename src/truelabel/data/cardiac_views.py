"""Views of the heart in ultrasound, labelled by several people: a plain layout for data like those of Tanno 2019."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truelabel.data.dataset import Dataset, Split, check_split
from truelabel.data.folder import image_folder, list_images
from truelabel.data.published_trees import find_tree
from truelabel.data.root import missing_data

if TYPE_CHECKING:
    from truelabel.annotations import Annotations

_SIDE = 96


def cardiac_views(
    split: Split, root: str | os.PathLike[str] | None = None, *, limit: int | None = None
) -> tuple[Dataset, Annotations | None]:
    """Grey pictures with a true class each, and what annotators said about those to train on.

    The data of section 3.4 of Tanno 2019 (six views, eight annotators) are private and have no published layout. This
    one holds them, or others like them:

    ```text
    train/images/00001.png     96 x 96, grey; folders below are fine
    train/truth.csv            example,label             00001.png,apical 4 chamber
    train/labels.csv           example,annotator,label   00001.png,sonographer 3,apical 4 chamber
    test/images/...            and test/truth.csv
    ```

    Args:
        split: ``"train"`` or ``"test"``.
        root: the folder that holds these, or the data root with them in ``cardiac_views/``.
        limit: read the first so many pictures, by name; all by default.

    Returns:
        Inputs ``(N, 1, 96, 96)`` uint8 in the order of their names, with the views in the truth to train on as classes,
        sorted; and the labels that annotators gave, of the same examples and classes, None for ``"test"``.

    Raises:
        MissingDataError: if files are not there; the message names them.
        ValueError: if a picture has no true label, is of another size, or a table is damaged.

    Example:
        >>> cardiac_views("test", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: cardiac_views is not in no-such-folder: expected train/truth.csv, ...
    """
    from truelabel.annotations import Annotations

    check_split(split)
    top = find_tree(root, ("cardiac_views", "."), "train/truth.csv")
    files = dict.fromkeys(
        ["train/truth.csv", f"{split}/truth.csv", *(["train/labels.csv"] if split == "train" else [])]
    )
    absent = [file for file in files if not (top / file).is_file()]
    folder = top / split / "images"
    names = list_images(folder) if folder.is_dir() else []
    if absent or not names:
        wanted = [*absent, *([] if names else [f"{split}/images/*.png"])]
        raise missing_data("cardiac_views", top, wanted, way_out="its authors do not publish it, see docs/data.md")
    classes = Annotations.from_table(top / "train/truth.csv", example="example", label="label").classes
    labels = _truth(top / split / "truth.csv", names, classes)[:limit]
    images = image_folder(folder, names[:limit], mode="L")
    if images.shape[2:] != (_SIDE, _SIDE):
        raise ValueError(f"pictures in {folder} are {images.shape[2]} x {images.shape[3]}, not 96 x 96: resize them")
    data = Dataset(images, labels, classes, "cardiac_views")
    if split == "test":
        return data, None
    said = Annotations.from_table(
        top / "train/labels.csv",
        example="example",
        annotator="annotator",
        label="label",
        classes=classes,
        examples=names,
    )
    return data, said.take(np.arange(len(data)))


def _truth(path: Path, names: list[str], classes: tuple[str | int, ...]) -> npt.NDArray[np.int64]:
    from truelabel.annotations import Annotations

    table = Annotations.from_table(path, example="example", label="label", examples=names, classes=classes)
    silent = np.flatnonzero(table.counts == 0)
    if len(silent):
        raise ValueError(f"{path} has no label for {names[silent[0]]}: add it, or take the picture away")
    return table.label.astype(np.int64)
