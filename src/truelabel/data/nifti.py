"""NIfTI volumes (.nii, .nii.gz) through nibabel, which only these files need."""

from __future__ import annotations

import gzip
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from truelabel.data.geometry import Geometry, refuse_absurd


def load_nifti(path: Path) -> tuple[npt.NDArray[Any], Geometry]:
    """The volume as stored, ``(C, *space)``, and its grid.

    Axes keep the order of the file, so that the affine applies: usually x, y, z. A fourth one is channels.
    """
    nibabel = _nibabel(path)
    image = nibabel.load(path)
    shape = image.shape
    refuse_absurd(path, shape)
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) not in (2, 3, 4):
        raise ValueError(f"it has {len(image.shape)} axes, not 2, 3 or 4")
    values = np.asarray(image.dataobj).reshape(shape)
    if values.dtype.kind not in "iufb":
        raise ValueError(f"its values are {values.dtype}, not plain numbers")
    space = shape[:3]
    spacing = tuple(float(step) or 1.0 for step in image.header.get_zooms()[: len(space)])
    geometry = Geometry(space, spacing, np.asarray(image.affine, np.float64))
    return np.moveaxis(values, -1, 0) if len(shape) == 4 else values[None], geometry


def nifti_bytes(path: Path, values: npt.NDArray[Any], geometry: Geometry) -> bytes:
    """A NIfTI file with this grid; the same values give the same bytes, zipped where ``path`` ends in ``.gz``."""
    nibabel = _nibabel(path)
    axes = len(geometry.shape)
    affine = geometry.affine
    if affine is None:
        affine = np.diag([*geometry.spacing, *[1.0] * (4 - axes)])
    image = nibabel.Nifti1Image(values, affine)
    image.header.set_zooms(geometry.spacing)
    image.header.set_xyzt_units("mm")
    content: bytes = image.to_bytes()
    return gzip.compress(content, mtime=0) if path.name.lower().endswith(".gz") else content


def _nibabel(path: Path) -> ModuleType:
    try:
        import nibabel
    except ImportError as error:
        raise ImportError(f"{path} needs nibabel: pip install 'truelabel[medical]'") from error
    return nibabel
