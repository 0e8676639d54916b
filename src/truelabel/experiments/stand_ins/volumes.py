"""Made-up scans: MS lesions and brain tumours as NIfTI volumes, lung nodules as crops with four readers' masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truelabel.data.geometry import Geometry
from truelabel.data.nifti import nifti_bytes

Volume = npt.NDArray[Any]

MS_SHAPE = (24, 24, 16)
TUMOUR_SHAPE = (48, 48, 8)
LUNG_SHAPE = (48, 48)
"""Sizes of what is written, in pixels; far below those of the real scans."""

_MS_CHANNELS = {"flair": 60.0, "mprage": -40.0, "pd": 30.0, "t2": 50.0}
_TUMOUR_CHANNELS = {"flair": (20, 60, 30), "t1": (-40, -20, 10), "t1ce": (-30, 0, 80), "t2": (40, 50, 20)}
"""How much lighter a lesion is, or each part of a tumour: core, oedema, enhancing."""


def write_ms_lesions(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Light spots in a round head, two visits a patient, in ``mslsc/``; the second rater draws a little less.

    ``examples`` scans in all become the two parts.
    """
    for number in range(examples):
        patient, visit = f"training{number // 2 + 1:02d}", f"{number % 2 + 1:02d}"
        lesion = np.zeros(MS_SHAPE, bool)
        for _ in range(4):
            lesion |= _ball(MS_SHAPE, rng.uniform(0.3, 0.7, 3) * MS_SHAPE, rng.uniform(2, 4))
        folder = root / "mslsc" / patient
        for channel, lighter in _MS_CHANNELS.items():
            scan = _head(rng, MS_SHAPE) + lighter * lesion
            _write(folder / "preprocessed" / f"{patient}_{visit}_{channel}_pp.nii", scan.astype(np.float32))
        for rater, drawn in ((1, lesion), (2, lesion & np.roll(lesion, 1, 0))):
            _write(folder / "masks" / f"{patient}_{visit}_mask{rater}.nii", drawn.astype(np.uint8))


def write_brats2019(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Tumours of three shells in ``MICCAI_BraTS_2019_Data_Training/HGG/``: about ``examples`` slices to train on."""
    for number in range(max(6, round(examples * 1.5 / TUMOUR_SHAPE[2]))):
        case = f"BraTS19_MADE_UP_{number:03d}_1"
        folder = root / "MICCAI_BraTS_2019_Data_Training" / "HGG" / case
        centre, radius = rng.uniform(0.35, 0.65, 3) * TUMOUR_SHAPE, rng.uniform(8, 11)
        mask = np.zeros(TUMOUR_SHAPE, np.uint8)
        for label, share in ((2, 1.0), (4, 0.7), (1, 0.4)):
            mask[_ball(TUMOUR_SHAPE, centre, radius * share)] = label
        for channel, lighter in _TUMOUR_CHANNELS.items():
            shells = np.array([0, lighter[0], lighter[1], 0, lighter[2]])
            _write(folder / f"{case}_{channel}.nii", (_head(rng, TUMOUR_SHAPE) + shells[mask]).astype(np.float32))
        _write(folder / f"{case}_seg.nii", mask)


def write_lidc(root: Path, examples: int, rng: np.random.Generator) -> None:
    """A light nodule on a dark ground in ``lidc_crops/``: readers draw it larger, smaller and aside, or miss it."""
    patient = 0
    for part, count in (("train", examples), ("val", max(2, examples // 5)), ("test", max(2, examples // 2))):
        for number in range(count):
            patient += number % 2 == 0
            name = f"LIDC-IDRI-{patient:04d}/z-{100 + number}.0_c0"
            centre, radius = rng.uniform(0.35, 0.65, 2) * LUNG_SHAPE, rng.uniform(5, 9)
            nodule = _ball(LUNG_SHAPE, centre, radius)
            grey = rng.normal(60, 15, LUNG_SHAPE) + 110 * nodule
            _write_png(root / "lidc_crops" / part / "images" / f"{name}.png", grey)
            missed = rng.integers(8)
            for reader in range(4):
                drawn = _ball(LUNG_SHAPE, centre + rng.normal(0, 0.7, 2), radius + (0.0, 1.5, -1.5, 0.5)[reader])
                path = root / "lidc_crops" / part / "gt" / f"{name}_l{reader}.png"
                _write_png(path, 255.0 * drawn * (reader != missed))


def _ball(shape: tuple[int, ...], centre: npt.ArrayLike, radius: float) -> npt.NDArray[np.bool_]:
    """Voxels no further than ``radius`` from the centre."""
    away = np.indices(shape) - np.asarray(centre).reshape(-1, *[1] * len(shape))
    return np.asarray((away**2).sum(0) <= radius**2)


def _head(rng: np.random.Generator, shape: tuple[int, ...]) -> Volume:
    """Noise inside a ball, and nothing outside it, as without the skull."""
    inside = _ball(shape, (np.array(shape) - 1) / 2, max(shape) / 2)
    return np.asarray(inside * rng.normal(100, 12, shape))


def _write(path: Path, values: Volume) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(nifti_bytes(path, values, Geometry(values.shape)))


def _write_png(path: Path, grey: Volume) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(grey.clip(0, 255).astype(np.uint8)).save(path, compress_level=1)
