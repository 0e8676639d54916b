"""One picture or volume from a file: PNG, JPEG, BMP, TIFF, NIfTI or .npy."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truelabel.data.arrays import load_array
from truelabel.data.folder import ENDINGS as PICTURES
from truelabel.data.geometry import Geometry, refuse_absurd
from truelabel.data.nifti import load_nifti
from truelabel.data.pixels import load_pixels
from truelabel.data.tiff import load_tiff

ENDINGS = frozenset({*PICTURES, ".nii", ".nii.gz", ".npy"})
"""Files that may hold a picture, volume or mask, in lower case."""

_LUMA = np.array([19595, 38470, 7471], np.uint32)  # of red, green and blue, in 2^-16: as Pillow rounds them


def ending(path: Path | str) -> str:
    """The ending in lower case, where ``.nii.gz`` is one: ``ending("a.b.NII.gz")`` is ``".nii.gz"``."""
    name = Path(path).name.lower()
    return ".nii.gz" if name.endswith(".nii.gz") else Path(name).suffix


def read_picture(
    path: str | os.PathLike[str],
    *,
    mode: Literal["RGB", "L"] | None = None,
    axes: Literal[2, 3] | None = None,
) -> tuple[npt.NDArray[Any], Geometry]:
    """Read one picture or volume. Nothing is scaled; transparency and a rotation noted in EXIF are dropped.

    - PNG, JPEG, BMP and the like become ``(C, H, W)``: colour has three channels, grey and one bit (0 and 255) one.
    - TIFF likewise; pages of one size are a volume ``(C, D, H, W)``.
    - ``.nii`` and ``.nii.gz`` become ``(C, X, Y, Z)`` in the axes of the file, where a fourth axis is channels. They
      need ``truelabel[medical]``.
    - ``.npy`` of two axes is ``(H, W)``, of three ``(D, H, W)``, of four ``(C, D, H, W)``.

    Args:
        path: the file; its ending tells what it is.
        mode: bring a picture of 8 bits to colour or grey; None keeps what is stored.
        axes: how many axes of space there are: 2 makes three axes of a ``.npy`` file ``(C, H, W)``.

    Returns:
        ``(C, *space)``, uint8 where that is stored and float32 otherwise, and the grid.

    Raises:
        FileNotFoundError: if there is no such file.
        ImportError: for NIfTI without nibabel.
        ValueError: if it cannot be read, is absurdly large or holds values that are not finite.

    Example:
        >>> import numpy as np, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "scan.npy")
        ...     np.save(path, np.zeros((3, 4, 6), np.int16))
        ...     values, geometry = read_picture(path)
        >>> values.shape, str(values.dtype), geometry.shape
        ((1, 3, 4, 6), 'float32', (3, 4, 6))
    """
    path = Path(path)
    if mode not in (None, "RGB", "L"):
        raise ValueError(f"mode {mode!r} is unknown: pass 'RGB' or 'L'")
    values, geometry = load_raster(path, colours=True)
    if axes == 2 and ending(path) == ".npy" and len(geometry.shape) == 3:
        values, geometry = values[0], Geometry(geometry.shape[1:])
    if values.dtype != np.uint8:
        values = values.astype(np.float32)
        if not np.isfinite(values).all():
            raise ValueError(f"{path} holds values that are not finite: replace them, for example by 0")
    elif mode is not None:
        values = _in_mode(values, mode)
    return values, geometry


def load_raster(path: Path, *, colours: bool) -> tuple[npt.NDArray[Any], Geometry]:
    """What a file stores, ``(C, *space)``, and its grid.

    Args:
        path: the file.
        colours: whether to give what the eye sees; else the numbers as stored: positions in a palette, and no
            turning round where a TIFF says that 0 is white.
    """
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist: check the path")
    kind = ending(path)
    if kind not in ENDINGS:
        raise ValueError(f"{path} is of an unknown kind: pass one of {', '.join(sorted(ENDINGS))}")
    try:
        if kind == ".npy":
            return _array(path)
        if kind in (".nii", ".nii.gz"):
            return load_nifti(path)
        load = load_tiff if kind in (".tif", ".tiff") else load_pixels
        values = load(path, colours=colours)
        return values, Geometry(values.shape[1:])
    except ImportError:
        raise
    except Exception as error:  # the many readers fail on damage in as many ways
        reason = " ".join(str(error).split()) or type(error).__name__
        if str(path) in reason:
            raise ValueError(reason) from error
        raise ValueError(f"{path} cannot be read ({reason}): replace it or leave it out") from error


def _array(path: Path) -> tuple[npt.NDArray[Any], Geometry]:
    refuse_absurd(path, (path.stat().st_size // 8,))
    values = load_array(path)
    if values.dtype.kind not in "iufb" or values.ndim not in (2, 3, 4):
        raise ValueError(f"it holds {values.dtype} of shape {values.shape}, not 2 to 4 axes of numbers")
    values = values if values.ndim == 4 else values[None]
    return values, Geometry(values.shape[1:])


def _in_mode(values: npt.NDArray[np.uint8], mode: str) -> npt.NDArray[np.uint8]:
    if mode == "RGB" and len(values) == 1:
        return np.repeat(values, 3, axis=0)
    if mode == "L" and len(values) == 3:
        luma = np.tensordot(_LUMA, values.astype(np.uint32), 1)
        return ((luma + 0x8000) >> 16).astype(np.uint8)[None]
    return values
