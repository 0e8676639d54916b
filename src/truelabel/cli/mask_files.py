"""Masks and maps to files, on the grid of the picture that they are of."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.types import MISSING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from truelabel.data import Geometry

NIFTI = (".nii", ".nii.gz")
HOLD_MASKS = (".png", ".tif", ".tiff", ".npy", *NIFTI)


def mask_ending(path: Path, geometry: Geometry) -> str:
    """The ending of a mask of what ``path`` holds: the same, or else PNG for a picture and TIFF for a volume.

    Example:
        >>> from truelabel.data import Geometry
        >>> mask_ending(Path("a.jpg"), Geometry((4, 6))), mask_ending(Path("a.NII.gz"), Geometry((4, 6, 5)))
        ('.png', '.nii.gz')
    """
    from truelabel.data.rasters import ending

    kind = ending(path)
    if geometry.affine is not None:
        return kind if kind in NIFTI else ".nii.gz"
    flat = len(geometry.shape) == 2
    if kind in HOLD_MASKS and (flat or kind != ".png"):
        return kind
    return ".png" if flat else ".tif"


def save_mask(
    path: Path, mask: NDArray[Any], values: tuple[int, ...], geometry: Geometry, void: tuple[int, ...]
) -> int:
    """Write a mask of class positions with the numbers that stand for them, and say what stands for -1.

    Args:
        path: where to.
        mask: ``(*space)``, positions in ``values``, -1 where there is none.
        values: ``(K,)``, the number of each class.
        geometry: the grid.
        void: numbers that the user writes for "no label"; the first one is used. Without one, -1 stays what it is, or
            becomes 255 in PNG, 65535 where that is a class.

    Returns:
        The number that stands for -1.
    """
    from truelabel.data import write_mask

    numbers = np.append(np.array(values, np.int32), MISSING)[mask]
    stands = void[0] if void else MISSING
    if path.suffix == ".png" and not void:
        stands = 255 if 255 not in values else 65535
    write_mask(path, numbers, geometry, void=None if stands == MISSING else stands)
    return stands


def save_probabilities(
    path: Path, probs: NDArray[np.floating[Any]], values: tuple[int, ...], geometry: Geometry, ending: str
) -> None:
    """Write ``probs (K, *space)``: a NIfTI volume for each class, its number in the name, or else one .npy file.

    Args:
        path: where to, without ending.
        probs: of each class.
        values: ``(K,)``, the number of each class.
        geometry: the grid.
        ending: of the masks.
    """
    if ending not in NIFTI:
        save_map(path.with_name(f"{path.name}.npy"), probs, geometry)
        return
    for value, own in zip(values, probs, strict=True):
        save_map(path.with_name(f"{path.name}_{value}{ending}"), own, geometry)


def save_map(path: Path, values: NDArray[np.floating[Any]], geometry: Geometry) -> None:
    """Write numbers between 0 and 1: as they are, or in 256 steps of grey for PNG.

    Args:
        path: where to; the ending tells the format.
        values: ``(*space)``, or of any shape for .npy.
        geometry: the grid.
    """
    from truelabel.atomic import write_atomically
    from truelabel.data.nifti import nifti_bytes
    from truelabel.data.tiff import tiff_bytes

    single = np.ascontiguousarray(values, np.float32)
    stream = io.BytesIO()
    if path.name.endswith(NIFTI):
        stream.write(nifti_bytes(path, single, geometry))
    elif path.suffix == ".npy":
        np.save(stream, single, allow_pickle=False)
    elif path.suffix == ".png":
        from PIL import Image

        Image.fromarray(np.rint(single * 255).clip(0, 255).astype(np.uint8)).save(stream, "PNG")
    else:
        stream.write(tiff_bytes(single))
    write_atomically(path, stream.getvalue())


def safe_name(name: object) -> str:
    """A name as that of a folder, whatever it holds.

    Example:
        >>> safe_name("../Dr. Ann/2")
        'Dr. Ann_2'
    """
    return re.sub(r"[^\w .@+=-]+", "_", str(name)).strip("._ ") or "_"
