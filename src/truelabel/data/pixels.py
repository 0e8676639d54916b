"""Pictures through Pillow, either as the eye sees them or as the numbers that are stored."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt


def load_pixels(path: Path, *, colours: bool) -> npt.NDArray[Any]:
    """One picture, ``(C, H, W)``, without transparency.

    Args:
        path: the file.
        colours: whether to look up palettes; else positions in the palette are what counts, and one bit is 0 or 1.
    """
    with _opened(path) as image:
        deep = image.mode.startswith(("I", "F"))
        if colours and not deep:
            image = image.convert("L" if image.mode in ("1", "L", "LA", "La") else "RGB")
        elif image.mode in ("CMYK", "YCbCr", "LAB", "HSV"):
            image = image.convert("RGB")
        pixels = _channels_first(np.asarray(image))
        return pixels[:-1] if image.mode in ("LA", "La", "PA", "RGBA", "RGBa") else pixels


def load_frames(path: Path) -> npt.NDArray[Any]:
    """All pages of a file as the numbers that Pillow gives, ``(C, H, W)`` or ``(C, D, H, W)``."""
    with _opened(path) as image:
        frames = []
        for page in range(getattr(image, "n_frames", 1)):
            image.seek(page)
            frames.append(_channels_first(np.asarray(image)))
    return frames[0] if len(frames) == 1 else np.stack(frames, axis=1)


def _channels_first(pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    pixels = np.where(pixels, np.uint8(1), np.uint8(0)) if pixels.dtype == bool else pixels  # Pillow's True is 255
    return pixels[None] if pixels.ndim == 2 else np.moveaxis(pixels, -1, 0)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[Any]:
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(path) as image:
                yield image
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise ValueError(
            f"{path} is absurdly large ({error}): shrink it, or raise PIL.Image.MAX_IMAGE_PIXELS if you trust it"
        ) from error
