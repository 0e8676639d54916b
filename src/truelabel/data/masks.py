"""One mask from a file and to a file: PNG, TIFF, NIfTI or .npy, with the grid of the picture that it is of."""

from __future__ import annotations

import io
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truelabel.atomic import write_atomically
from truelabel.data.geometry import Geometry, extent
from truelabel.data.mask_classes import MISSING, WHITE, Classes, distinct, named_values, void_values, white_is_one
from truelabel.data.nifti import nifti_bytes
from truelabel.data.rasters import ending, load_raster
from truelabel.data.tiff import tiff_bytes

MOST_CLASSES = 64
"""A mask with more values than this looks like a picture, unless the classes are given."""

Mask = npt.NDArray[np.signedinteger[Any]]
"""Class numbers and -1: int16, or int32 where they are larger."""


def read_mask(
    path: str | os.PathLike[str],
    *,
    classes: Classes | None = None,
    void: int | Collection[int] | None = None,
) -> tuple[Mask, Geometry]:
    """Read one mask: a class number for every pixel.

    Numbers are those that are stored: the position in the palette of a palette PNG, 0 and 1 of one bit. The one
    exception are masks of nothing but 0 and 255, black and white: there 255 is class 1, unless ``void`` or
    ``classes`` say otherwise. Floating point is fine where all numbers are whole. -1 and NaN mean "no label".

    Args:
        path: PNG, BMP, TIFF, NIfTI or ``.npy``, in the shapes of :func:`read_picture`. Colour is fine where it is grey.
        classes: what may occur: the number of classes, their values, their names (for 0, 1, 2, …) or a dict from values
            to names. Without it, more than 64 different values are refused.
        void: values that mean "no label".

    Returns:
        ``(*space)``, int16, or int32 where numbers are larger; and the grid.

    Raises:
        FileNotFoundError: if there is no such file.
        ImportError: for NIfTI without nibabel.
        ValueError: if it cannot be read or is no mask, or a value is not among ``classes``.

    Example:
        >>> import pathlib, tempfile
        >>> from PIL import Image
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "white.png")
        ...     Image.new("L", (3, 2), 255).save(path)
        ...     read_mask(path)[0]
        array([[1, 1, 1],
               [1, 1, 1]], dtype=int16)
    """
    known, nothing = named_values(classes), void_values(void)
    values, found, geometry = load_mask(Path(path), known, nothing)
    if white_is_one(found, known, nothing):
        values[values == WHITE] = 1
    return values, geometry


def load_mask(path: Path, known: Collection[int] | None, void: Collection[int]) -> tuple[Mask, list[int], Geometry]:
    """A mask as stored, with void as -1; the values other than -1 that occur; and the grid."""
    if ending(path) in (".jpg", ".jpeg"):
        raise ValueError(f"{path} is JPEG, which blurs class numbers, so it is no mask: save it as PNG, thresholded")
    stored, geometry = load_raster(path, colours=False)
    if len(stored) != 1 and not (len(stored) == 3 and (stored == stored[:1]).all()):
        raise ValueError(f"{path} has colours or channels, so it is no mask: save one class number per pixel")
    values = _whole(path, stored[0])
    found = distinct(values)
    if void:
        values[np.isin(values, list(void))] = MISSING
    found = [value for value in found if value != MISSING and value not in void]
    if known is None and len(found) > MOST_CLASSES:
        raise ValueError(
            f"{path} has {len(found)} different values, so it looks like a picture, not a mask: "
            "pass classes= if it is one"
        )
    if known is not None and not white_is_one(found, known, void):
        outside = [value for value in found if value not in known]
        if outside:
            raise ValueError(f"{path} holds {outside[0]}, which is not among the classes: pass it in classes= or void=")
    return values, found, geometry


def write_mask(
    path: str | os.PathLike[str],
    values: npt.ArrayLike,
    geometry: Geometry | None = None,
    *,
    void: int | None = None,
) -> None:
    """Write one mask so that :func:`read_mask` gives it back. The file appears whole or not at all.

    - PNG holds one picture: a palette with the class number as position, so that classes differ to the eye (the colours
      of Pascal VOC); grey of 16 bits for numbers above 255.
    - TIFF holds a picture, or a volume as pages.
    - ``.nii`` and ``.nii.gz`` keep affine and spacing of ``geometry``.
    - ``.npy`` holds any shape.

    Args:
        path: where to; the ending tells the format. Folders on the way are made.
        values: ``(*space)`` class numbers, -1 for no label.
        geometry: the grid of the picture that the mask is of, as :func:`read_mask` and :func:`read_picture` give it.
        void: the number to write for -1. PNG needs one where there is a -1; 255 is usual.

    Raises:
        ImportError: for NIfTI without nibabel.
        ValueError: if the values are no class numbers, do not fit the grid, or do not fit the format.

    Example:
        >>> import numpy as np, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "mask.png")
        ...     write_mask(path, np.array([[0, 2], [1, -1]]), void=255)
        ...     read_mask(path, void=255)[0].tolist()
        [[0, 2], [1, -1]]
    """
    path = Path(path)
    numbers: npt.NDArray[Any] = _whole("values", np.asarray(values))
    if geometry is None:
        geometry = Geometry(numbers.shape)
    if numbers.shape != geometry.shape:
        raise ValueError(f"values are {extent(numbers.shape)} but geometry is {extent(geometry.shape)}: pass its own")
    if void is not None:
        if void < 0 or void in distinct(numbers):
            raise ValueError(f"void {void} is a class in values or below 0: pass a number that is free, such as 255")
        numbers = np.where(numbers == MISSING, np.int32(void), numbers)
    if numbers.min(initial=0) >= 0:
        numbers = numbers.astype(np.min_scalar_type(numbers.max(initial=0)))
    write_atomically(path, _content(path, numbers, geometry))


def _content(path: Path, values: npt.NDArray[Any], geometry: Geometry) -> bytes:
    kind = ending(path)
    if kind in (".nii", ".nii.gz"):
        return nifti_bytes(path, values, geometry)
    if kind == ".npy":
        stream = io.BytesIO()
        np.save(stream, values, allow_pickle=False)
        return stream.getvalue()
    if kind not in (".png", ".tif", ".tiff"):
        raise ValueError(f"{path} cannot hold a mask: end it in .png, .tif, .nii, .nii.gz or .npy")
    if geometry.affine is not None:
        raise ValueError(f"{path} cannot hold the affine of the volume: end it in .nii.gz, or pass no geometry")
    if kind != ".png":
        return tiff_bytes(values)
    if values.ndim != 2:
        raise ValueError(f"{path} holds one picture, but values are {extent(values.shape)}: end it in .tif or .nii.gz")
    return _png_bytes(path, values)


def _png_bytes(path: Path, values: npt.NDArray[Any]) -> bytes:
    from PIL import Image

    if values.min(initial=0) < 0 or values.max(initial=0) > np.iinfo(np.uint16).max:
        what = "-1 (no label): pass void=255" if values.min(initial=0) < 0 else "more than 65535: end it in .tif"
        raise ValueError(f"{path} cannot hold {what}")
    image = Image.fromarray(values.astype(np.uint8 if values.max(initial=0) <= WHITE else np.uint16))
    if image.mode == "L":
        image.putpalette(_palette().tobytes())
    stream = io.BytesIO()
    image.save(stream, "PNG")
    return stream.getvalue()


def _palette() -> npt.NDArray[np.uint8]:
    """The colours of Pascal VOC, ``(256, 3)``: bits 0, 3, 6 of the class are red from the top, and so on."""
    number = np.arange(256)[:, None]
    colours = np.zeros((256, 3), np.int64)
    for level in range(8):
        colours |= ((number >> (3 * level + np.arange(3))) & 1) << (7 - level)
    return colours.astype(np.uint8)


def _whole(what: object, values: npt.NDArray[Any]) -> Mask:
    """Class numbers of at least -1 in a small type, or a one-line error that says in ``what`` they are not."""
    if values.dtype.kind == "f":
        values = np.where(np.isnan(values), MISSING, values)
        wrong = values != np.floor(values)
        if wrong.any():
            raise ValueError(
                f"{what} holds {values[wrong][0]:.6g}, which is no class number: it looks like a picture or "
                "probabilities, so threshold it first"
            )
    elif values.dtype.kind not in "iub":
        raise ValueError(f"{what} holds {values.dtype}, not class numbers: pass integers")
    low, high = (values.min(), values.max()) if values.size else (0, 0)
    if low < MISSING or high > np.iinfo(np.int32).max:
        wrong = low if low < MISSING else high
        raise ValueError(f"{what} holds {wrong}, which is no class number: these are 0, 1, 2, …, and -1 for none")
    small: Mask = values.astype(np.int16 if high <= np.iinfo(np.int16).max else np.int32)
    return small
