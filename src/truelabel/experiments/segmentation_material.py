"""Examples with a class for every pixel: digits, scans and scenes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truelabel import data
from truelabel.data import Dataset, ReadImages
from truelabel.data.published_trees import find_tree
from truelabel.experiments.kept import kept
from truelabel.experiments.material_parts import Material, first
from truelabel.experiments.read_parts import as_dataset, cropped, first_images, split_cases
from truelabel.fusion import fuse_images, spatial_staple

TUMOUR_SLICES = (1600, 300, 500)
LUNG_SLICES = (5000, 1000, 1000)
"""To train, validate and test on, in Zhang 2020."""

LUNG_PATIENTS = (722, 144, 144)
MS_SCANS = (10, 11)


def mnist_segmentation(
    root: Path | None, train: int | None, test: int | None, *, noise: float = 0.0, seed: int = 0
) -> Material:
    """Digits and their pixels, clean or with noise of standard deviation ``noise``, which test images draw anew."""
    return Material(
        first(data.mnist_segmentation("train", root, noise=noise, seed=seed), train),
        first(data.mnist_segmentation("test", root, noise=noise, seed=seed + 1), test),
    )


def ms_lesions(
    root: Path | None,
    train: int | None,
    test: int | None,
    *,
    crop: Sequence[int] | None = None,
    slices: Literal["lesion", "all"] | None = None,
    truth: Literal["rater1", "rater2"] = "rater1",
) -> Material:
    """Scans of the MS lesion challenge: the first 10 of 21 by name to train on, 11 to test on, as in Zhang 2020.

    No 10 of them are all the scans of some of the five patients, so the third patient is on both sides. ``truth`` is
    one of the two raters; the paper does not say which. Noise is simulated, so nothing is ``given``.

    ``crop`` cuts or pads volumes ``(X, Y, Z)``, by default not at all. ``slices`` gives axial slices ``(X, Y)``
    instead of volumes: those where the truth shows ``"lesion"``, or ``"all"``.
    """
    if slices not in (None, "lesion", "all"):
        raise ValueError(f"slices {slices!r} is unknown: pass 'lesion', 'all' or None")
    if truth not in ("rater1", "rater2"):
        raise ValueError(f"truth {truth!r} is unknown: pass 'rater1' or 'rater2'")
    scans = as_dataset(data.mslsc(root, crop=crop), truth, "ms_lesions")
    trained = max(1, len(scans) * MS_SCANS[0] // sum(MS_SCANS))
    parts = scans.take(slice(trained)), scans.take(slice(trained, None))
    if slices is not None:
        parts = _axial(parts[0], slices), _axial(parts[1], slices)
    return Material(first(parts[0], train), first(parts[1], test))


def brats2019(
    root: Path | None,
    train: int | None,
    test: int | None,
    *,
    slices: int = 10,
    crop: Sequence[int] = (192, 192),
    grades: Sequence[str] = ("HGG",),
) -> Material:
    """Slices of brain tumours, split by case: 1600 to train on, then 300 to validate on, and 500 to test on.

    Those to validate on stand at the end of ``train``. The 259 cases are shared out in the proportions of Zhang 2020,
    which does not say how; ``slices`` of each are taken, spread evenly over those with tumour, until there are enough.
    """
    top = find_tree(root, ("MICCAI_BraTS_2019_Data_Training", "brats2019", "."), "?GG/*/*.nii*")
    names = sorted(path.name for grade in grades for path in top.glob(f"{grade}/*") if path.is_dir())
    if not names:
        data.brats2019(root, grades=grades)  # which says what is missing

    def read(cases: Iterable[str]) -> Iterator[ReadImages]:
        for case in cases:
            yield data.brats2019(root, grades=grades, cases=[case], slices=slices, crop=crop)

    learned, validated, tested = split_cases(names, TUMOUR_SLICES)
    trained = first_images([read(learned), read(validated)], TUMOUR_SLICES[:2], train)
    judged = first_images([read(tested)], TUMOUR_SLICES[2:], test)
    return Material(as_dataset(trained, "truth", "brats2019"), as_dataset(judged, "truth", "brats2019"))


def lidc(
    root: Path | None,
    train: int | None,
    test: int | None,
    *,
    crop: Sequence[int] | None = None,
    keep: Path | None = None,
) -> Material:
    """Lung nodules that four readers drew; the truth is the Spatial STAPLE consensus of the four, as in Zhang 2020.

    Of ``train/``, ``val/`` and ``test/`` the first 5000, 1000 and 1000 slices are used; those to validate on stand at
    the end of ``train``. Without these folders patients are shared out like 722, 144 and 144. ``crop`` cuts or pads to
    ``(H, W)``, by default not at all: they are 180 x 180. The consensus takes about a sixth of a second a slice, and is
    kept in the folder ``keep``.
    """
    top = find_tree(root, ("lidc_crops", "."), "train/images/*/*.png")
    if next(top.glob("train/images/*/*.png"), None) is not None:
        places = [place for place in ("train", "val", "test") if place != "val" or (top / place).is_dir()]
        parts = [map(data.lidc, [place], [root]) for place in places]
    else:
        everything = data.lidc(None, root)
        patient = np.array([str(name).split("/")[0] for name in everything.names])
        shares = split_cases(sorted(set(patient.tolist())), LUNG_PATIENTS)
        parts = [map(everything.take, [np.flatnonzero(np.isin(patient, share))]) for share in shares]
    trained = cropped(first_images(parts[:-1], LUNG_SLICES[:2], train), crop)
    judged = cropped(first_images(parts[-1:], LUNG_SLICES[2:], test), crop)
    consensus = _with_consensus(trained, keep), _with_consensus(judged, keep)
    return Material(*consensus, trained.annotations, judged.annotations)


def pascal_voc(root: Path | None, train: int | None, test: int | None, *, size: Sequence[int] = (513, 513)) -> Material:
    """Pascal VOC 2012: its lists ``train`` and ``val``, resized to ``size``; void stays -1."""
    parts = data.pascal_voc("train", root, size=size), data.pascal_voc("val", root, size=size)
    trained, judged = (as_dataset(part, "truth", "pascal_voc") for part in parts)
    return Material(first(trained, train), first(judged, test))


def cityscapes(
    root: Path | None, train: int | None, test: int | None, *, size: Sequence[int] = (512, 1024)
) -> Material:
    """Cityscapes: its parts ``train`` and ``val``, resized to ``size``, by default half of what is stored."""
    parts = data.cityscapes("train", root, size=size), data.cityscapes("val", root, size=size)
    trained, judged = (as_dataset(part, "truth", "cityscapes") for part in parts)
    return Material(first(trained, train), first(judged, test))


def _axial(volumes: Dataset, slices: Literal["lesion", "all"]) -> Dataset:
    """Slices ``(N, C, X, Y)`` of volumes ``(N, C, X, Y, Z)``, those of one volume one after the other."""
    inputs = np.moveaxis(volumes.inputs, -1, 1)
    labels = np.moveaxis(volumes.labels, -1, 1)
    shown = (labels > 0).any((2, 3)) if slices == "lesion" else np.ones(labels.shape[:2], bool)
    return Dataset(inputs[shown], labels[shown].astype(np.int16), volumes.classes, volumes.name)


def _with_consensus(read: ReadImages, keep: Path | None) -> Dataset:
    assert read.images is not None
    said = read.annotations

    def found() -> npt.NDArray[np.int16]:
        labels: npt.NDArray[Any] = fuse_images(said, spatial_staple).labels
        return labels.astype(np.int16)

    labels = kept(keep, (said.example, said.annotator, said.label), found)
    return Dataset(read.images, labels, read.classes, "lidc")
