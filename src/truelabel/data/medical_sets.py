"""Published scans with masks: MS lesions (ISBI 2015), brain tumours (BraTS 2019), lung nodules (LIDC-IDRI crops)."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from truelabel.data.cases import Case, CaseReader, Example, collect, read_cases
from truelabel.data.geometry import Geometry
from truelabel.data.masks import read_mask
from truelabel.data.preparation import Preparation
from truelabel.data.published_trees import either, find_tree, require_files
from truelabel.data.read_images import ReadImages

_MS_CHANNELS = ("flair", "mprage", "pd", "t2")
_TUMOUR_CHANNELS = ("flair", "t1", "t1ce", "t2")
_TUMOUR = {0: "background", 1: "core", 2: "oedema", 4: "enhancing"}
_LUNG_READERS = ("l0", "l1", "l2", "l3")


def mslsc(
    root: str | os.PathLike[str] | None = None,
    *,
    channels: Sequence[str] = _MS_CHANNELS,
    normalise: Literal["nonzero", "all"] | None = "nonzero",
    crop: Sequence[int] | None = None,
) -> ReadImages:
    """The training scans of the longitudinal MS lesion challenge, ISBI 2015 (Carass 2017): two raters, 21 scans.

    Expected, with ``.nii`` or ``.nii.gz``:

    ```text
    training01/preprocessed/training01_01_flair_pp.nii     and mprage, pd, t2
    training01/masks/training01_01_mask1.nii               and mask2
    training01/preprocessed/training01_02_flair_pp.nii     the next visit
    training02/...
    ```

    Args:
        root: the folder that holds these, or the data root with them in ``mslsc/``.
        channels: which scans, in this order.
        normalise: per scan and channel, over ``"nonzero"`` voxels or ``"all"``; None keeps the values.
        crop: cut or pad to this size; as stored they are 181 x 217 x 181 at 1 mm.

    Returns:
        Images ``(21, 4, 181, 217, 181)`` float32, named like ``training01_01``; readers ``rater1`` and ``rater2``;
        classes ``background`` and ``lesion``.

    Raises:
        MissingDataError: if files are not there; the message names them.

    Example:
        >>> mslsc("no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: mslsc is not in no-such-folder: expected training01/preprocessed/...
    """
    top = find_tree(root, ("mslsc", "."), "training*/*/training*_*")
    cases = []
    for patient in sorted(top.glob("training*")):
        found = {path.name.split("_")[1] for path in patient.glob(f"*/{patient.name}_*_*.nii*")}
        for visit in sorted(found):
            name = f"{patient.name}_{visit}"
            scans = [either(patient / "preprocessed", f"{name}_{channel}_pp.nii") for channel in channels]
            masks = {f"rater{i}": either(patient / "masks", f"{name}_mask{i}.nii") for i in (1, 2)}
            cases.append(Case(name, tuple(scans), masks))
    require_files("mslsc", top, cases, "training01/preprocessed/training01_01_flair_pp.nii[.gz] and the like")
    preparation = Preparation(normalise=normalise, crop=crop)
    return read_cases(cases, ("rater1", "rater2"), classes=("background", "lesion"), preparation=preparation)


def brats2019(
    root: str | os.PathLike[str] | None = None,
    *,
    grades: Sequence[str] = ("HGG",),
    cases: Sequence[str] | None = None,
    channels: Sequence[str] = _TUMOUR_CHANNELS,
    slices: int | Literal["tumour", "all"] | None = "tumour",
    normalise: Literal["nonzero", "all"] | None = "nonzero",
    crop: Sequence[int] | None = None,
) -> ReadImages:
    """Brain tumours, BraTS 2019 (Menze 2015): four kinds of scan, one mask, as slices or as volumes.

    As in Zhang 2020 the four scans are stacked, cut to 192 x 192 and normalised per case and scan. The paper has 259
    cases of high grade and 1600, 300 and 500 slices to train, validate and test on, without saying which.

    Expected, with ``.nii.gz`` or ``.nii``:

    ```text
    HGG/BraTS19_2013_10_1/BraTS19_2013_10_1_flair.nii.gz     and t1, t1ce, t2
    HGG/BraTS19_2013_10_1/BraTS19_2013_10_1_seg.nii.gz
    HGG/...
    LGG/...
    ```

    Args:
        root: the folder that holds these, or the data root with them in ``MICCAI_BraTS_2019_Data_Training/``.
        grades: ``"HGG"``, ``"LGG"`` or both.
        cases: the names wanted; all by default.
        channels: which scans, in this order.
        slices: axial slices of each case: those that show ``"tumour"``, ``"all"``, or so many, spread evenly over those
            with tumour. None gives volumes.
        normalise: per case and scan, over ``"nonzero"`` voxels or ``"all"``; None keeps the values.
        crop: cut or pad to this size: by default 192 x 192 for slices, and nothing for volumes.

    Returns:
        Images ``(N, 4, 192, 192)`` float32, named like ``BraTS19_2013_10_1/077``, or ``(N, 4, X, Y, Z)``; the reader
        ``truth``; the four classes that are stored as 0, 1, 2, 4.

    Raises:
        MissingDataError: if files are not there; the message names them.

    Example:
        >>> brats2019("no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: brats2019 is not in no-such-folder: expected HGG/...
    """
    top = find_tree(root, ("MICCAI_BraTS_2019_Data_Training", "brats2019", "."), "?GG/*/*.nii*")
    wanted = []
    for folder in sorted(path for grade in grades for path in top.glob(f"{grade}/*") if path.is_dir()):
        if cases is None or folder.name in cases:
            scans = [either(folder, f"{folder.name}_{channel}.nii") for channel in channels]
            wanted.append(Case(folder.name, tuple(scans), {"truth": either(folder, f"{folder.name}_seg.nii")}))
    absent = sorted(set(cases or ()) - {case.name for case in wanted})
    expected = f"{'|'.join(grades)}/{absent[0] if absent else '<case>'}/*_flair.nii.gz and the like"
    require_files("brats2019", top, [] if absent else wanted, expected)
    if slices is None:
        preparation = Preparation(normalise=normalise, crop=crop)
        return read_cases(wanted, ("truth",), classes=_TUMOUR, preparation=preparation)
    levels = {case.name: _levels(case, slices) for case in wanted}
    names = [f"{case.name}/{level:03d}" for case in wanted for level in levels[case.name]]
    if not names:
        raise ValueError(f"no case in {top} shows tumour: pass slices='all'")
    read = CaseReader(known=_TUMOUR, preparation=Preparation(normalise=normalise))
    volumes = ((read(case), levels[case.name]) for case in wanted if levels[case.name])
    examples = (
        example for volume, at in volumes for example in _sliced(volume, at, Preparation(crop=crop or (192, 192)))
    )
    return collect(examples, names, ("truth",), len(names), read)


def _levels(case: Case, slices: int | str) -> list[int]:
    """Which axial slices of a case are wanted."""
    mask = read_mask(case.masks["truth"], classes=_TUMOUR)[0]
    if slices == "all":
        return list(range(mask.shape[2]))
    shown = np.flatnonzero((mask > 0).any((0, 1)))
    if slices != "tumour":
        if isinstance(slices, str) or slices < 1:
            raise ValueError(f"slices {slices!r} is unknown: pass 'tumour', 'all', a number of at least 1, or None")
        shown = shown[np.linspace(0, len(shown), slices, endpoint=False).astype(int)] if slices < len(shown) else shown
    return [int(level) for level in shown]


def _sliced(volume: Example, levels: Sequence[int], preparation: Preparation) -> Iterator[Example]:
    """Axial slices of a volume, cut to size."""
    grid = Geometry(volume.geometry.shape[:2], volume.geometry.spacing[:2])
    for level in levels:
        masks = {
            reader: mask._replace(values=preparation.mask(mask.values[..., level], grid))
            for reader, mask in volume.masks.items()
        }
        image = None if volume.image is None else preparation.image(volume.image[..., level], grid)
        yield Example(volume.source, image, masks, preparation.geometry(grid))


def lidc(split: str | None = None, root: str | os.PathLike[str] | None = None) -> ReadImages:
    """Crops round lung nodules, LIDC-IDRI (Armato 2011) as Kohl 2019 published them: four readers, 180 x 180.

    A reader who saw no nodule has an empty mask there: that is a label, not a gap.

    Expected, in the folder of the split if there is one:

    ```text
    train/images/LIDC-IDRI-0001/z-105.0_c0.png
    train/gt/LIDC-IDRI-0001/z-105.0_c0_l0.png     and _l1, _l2, _l3
    ```

    Args:
        split: ``"train"``, ``"val"`` or ``"test"``, or None where ``images/`` lies at the top.
        root: the folder that holds these, or the data root with them in ``lidc_crops/``.

    Returns:
        Images ``(N, 1, 180, 180)`` uint8, named like ``LIDC-IDRI-0001/z-105.0_c0``; readers ``l0`` to ``l3``; classes
        ``background`` and ``nodule``.

    Raises:
        MissingDataError: if files are not there; the message names them.

    Example:
        >>> lidc("train", root="no-such-folder")
        Traceback (most recent call last):
        truelabel.data.root.MissingDataError: lidc is not in no-such-folder: expected train/images/...
    """
    place = Path(split or ".")
    top = find_tree(root, ("lidc_crops", "."), f"{place.as_posix()}/images/*/*.png")
    cases = []
    for path in sorted((top / place / "images").glob("*/*.png")):
        masks = {r: top / place / "gt" / path.parent.name / f"{path.stem}_{r}.png" for r in _LUNG_READERS}
        cases.append(Case(f"{path.parent.name}/{path.stem}", (path,), masks))
    require_files("lidc", top, cases, f"{(place / 'images').as_posix()}/<patient>/<slice>.png and the like")
    return read_cases(cases, _LUNG_READERS, classes=("background", "nodule"), mode="L")
