"""Small pictures as text that a page can carry."""

from __future__ import annotations

import base64
import io
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SIDE = 160
"""Of a thumbnail, the longest, in pixels."""

TINY = 64
"""Pictures up to this side are kept to the pixel, as PNG, and shown enlarged with sharp edges."""


class Thumbnail(NamedTuple):
    """A data URI, and the pixels that it has."""

    uri: str
    width: int
    height: int


def file_thumbnail(path: Path, side: int = SIDE) -> Thumbnail:
    """Of a picture in a file; one of absurd size (Pillow's ``MAX_IMAGE_PIXELS``) or a damaged one is a ValueError.

    Transparency is dropped and a rotation noted in EXIF is not applied, as networks see it. More than 8 bits are
    stretched from the least to the largest value.
    """
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as stored:
                if stored.mode.startswith(("I", "F")):
                    return array_thumbnail(np.asarray(stored), side)
                stored.draft("RGB", (2 * side, 2 * side))  # a large JPEG is decoded at a fraction of its size
                return _encoded(stored.convert("L" if stored.mode in ("1", "L", "LA") else "RGB"), side)
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ValueError("it is absurdly large") from error
    except ValueError:
        raise
    except Exception as error:  # Pillow's many readers fail on damage in as many ways
        raise ValueError("it cannot be read") from error


def array_thumbnail(values: NDArray[Any], side: int = SIDE) -> Thumbnail:
    """Of ``(H, W)``, ``(H, W, 3)``, ``(C, H, W)`` with C of 1 or 3: bytes as they are, all else stretched to 0 to 255.

    Example:
        >>> array_thumbnail(np.zeros((4, 6))).width
        6
    """
    from PIL import Image

    return _encoded(Image.fromarray(to_bytes(values)), side)


def to_bytes(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Pixels as Pillow takes them, ``(H, W)`` or ``(H, W, 3)`` uint8."""
    if values.ndim == 3 and values.shape[-1] != 3:
        values = np.moveaxis(values, 0, -1)
    if values.ndim == 3 and values.shape[-1] == 1:
        values = values[..., 0]
    if values.ndim not in (2, 3) or not values.size or (values.ndim == 3 and values.shape[-1] != 3):
        raise ValueError(f"an array of shape {values.shape} is no picture")
    if values.dtype == np.uint8:
        return np.ascontiguousarray(values)
    numbers = np.nan_to_num(values.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
    low, high = float(numbers.min()), float(numbers.max())
    stretched = (numbers - low) * (255 / (high - low) if high > low else 0)
    return np.ascontiguousarray(stretched.round().astype(np.uint8))


def looks_like_picture(shape: tuple[int, ...]) -> bool:
    """Whether one example of this shape can be drawn.

    Example:
        >>> looks_like_picture((3, 32, 32)), looks_like_picture((64,)), looks_like_picture((7, 32, 32))
        (True, False, False)
    """
    if len(shape) == 2:
        return min(shape) > 1
    return len(shape) == 3 and (shape[0] in (1, 3) or shape[-1] == 3)


def _encoded(image: Any, side: int) -> Thumbnail:
    stream, kind = io.BytesIO(), "png"
    if max(image.size) <= TINY:
        image.save(stream, "PNG", optimize=True)
    else:
        image.thumbnail((side, side))
        image.save(stream, "JPEG", quality=80, optimize=True)
        kind = "jpeg"
    text = base64.b64encode(stream.getvalue()).decode("ascii")
    return Thumbnail(f"data:image/{kind};base64,{text}", *image.size)
