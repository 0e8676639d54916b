"""Published photographs with one mask each: Pascal VOC 2012 and Cityscapes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from truelabel.data.cases import Case, read_cases
from truelabel.data.preparation import Preparation
from truelabel.data.published_trees import find_tree, require_files
from truelabel.data.read_images import ReadImages

_VOC = (
    "background", "aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow", "diningtable",
    "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa", "train", "tvmonitor",
)  # fmt: skip
_CITYSCAPES = {
    7: "road", 8: "sidewalk", 11: "building", 12: "wall", 13: "fence", 17: "pole", 19: "traffic light",
    20: "traffic sign", 21: "vegetation", 22: "terrain", 23: "sky", 24: "person", 25: "rider", 26: "car", 27: "truck",
    28: "bus", 31: "train", 32: "motorcycle", 33: "bicycle",
}  # fmt: skip


def pascal_voc(
    split: Literal["train", "val", "trainval"],
    root: str | os.PathLike[str] | None = None,
    *,
    size: Sequence[int] | None = None,
    crop: Sequence[int] | None = None,
) -> ReadImages:
    """Photographs with 20 kinds of things and background, Pascal VOC 2012 (Everingham 2010).

    Expected:

    ```text
    ImageSets/Segmentation/train.txt              and val.txt, trainval.txt
    JPEGImages/2007_000032.jpg
    SegmentationClass/2007_000032.png
    ```

    Args:
        split: which list to follow, in its order.
        root: the folder that holds these, or the data root with them in ``VOCdevkit/VOC2012/``.
        size: resize to ``(H, W)``; photographs differ in size, so pass this or ``crop``.
        crop: cut or pad to ``(H, W)``, round the centre; 513 x 513 holds them whole.

    Returns:
        Images ``(N, 3, H, W)`` uint8; the reader ``truth``; 21 named classes, and -1 for the outlines stored as 255.

    Raises:
        MissingDataError: if files are not there; the message names them.

    Example:
        >>> pascal_voc("val", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: pascal_voc is not in no-such-folder: expected ImageSets/...
    """
    if split not in ("train", "val", "trainval"):
        raise ValueError(f"split {split!r} is unknown: pass 'train', 'val' or 'trainval'")
    listed = f"ImageSets/Segmentation/{split}.txt"
    top = find_tree(root, ("VOCdevkit/VOC2012", "VOC2012", "."), listed)
    names = (top / listed).read_text(encoding="utf-8").split() if (top / listed).is_file() else []
    cases = [
        Case(name, (top / f"JPEGImages/{name}.jpg",), {"truth": top / f"SegmentationClass/{name}.png"})
        for name in names
    ]
    require_files("pascal_voc", top, cases, listed)
    preparation = Preparation(size=size, crop=crop)
    return read_cases(cases, ("truth",), classes=_VOC, void=255, preparation=preparation, mode="RGB")


def cityscapes(
    split: Literal["train", "val"],
    root: str | os.PathLike[str] | None = None,
    *,
    size: Sequence[int] | None = None,
    crop: Sequence[int] | None = None,
) -> ReadImages:
    """Streets of German cities, finely annotated, Cityscapes (Cordts 2016). Whole, the training part takes 19 GB.

    Expected:

    ```text
    leftImg8bit/train/aachen/aachen_000000_000019_leftImg8bit.png
    gtFine/train/aachen/aachen_000000_000019_gtFine_labelIds.png
    ```

    Args:
        split: ``"train"`` or ``"val"``.
        root: the folder that holds these, or the data root with them in ``cityscapes/``.
        size: resize to ``(H, W)``; as stored they are 1024 x 2048.
        crop: cut or pad to ``(H, W)``, round the centre.

    Returns:
        Images ``(N, 3, H, W)`` uint8, named like ``aachen_000000_000019``; the reader ``truth``; the 19 classes that
        count in the benchmark, in the order of its train ids, and -1 for all others.

    Raises:
        MissingDataError: if files are not there; the message names them.

    Example:
        >>> cityscapes("val", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: cityscapes is not in no-such-folder: expected leftImg8bit/val/...
    """
    if split not in ("train", "val"):
        raise ValueError(f"split {split!r} is unknown: pass 'train' or 'val'")
    ending = "_leftImg8bit.png"
    top = find_tree(root, ("cityscapes", "."), f"leftImg8bit/{split}/*/*{ending}")
    cases = []
    for path in sorted(top.glob(f"leftImg8bit/{split}/*/*{ending}")):
        name = path.name.removesuffix(ending)
        mask = top / "gtFine" / split / path.parent.name / f"{name}_gtFine_labelIds.png"
        cases.append(Case(name, (path,), {"truth": mask}))
    require_files("cityscapes", top, cases, f"leftImg8bit/{split}/<city>/*{ending} and the like")
    others = set(range(256)) - set(_CITYSCAPES)
    preparation = Preparation(size=size, crop=crop)
    return read_cases(cases, ("truth",), classes=_CITYSCAPES, void=others, preparation=preparation, mode="RGB")
