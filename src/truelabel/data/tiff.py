"""TIFF files through tifffile: any depth, and several pages as a volume."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truelabel.data.geometry import refuse_absurd
from truelabel.data.pixels import load_frames


def load_tiff(path: Path, *, colours: bool) -> npt.NDArray[Any]:
    """A picture ``(C, H, W)``, or pages of one size as a volume ``(C, D, H, W)``; without transparency.

    Args:
        path: the file.
        colours: whether to look up the palette and turn round what says that 0 is white; else the numbers are given as
            stored. Programs that save masks with 0 shown as white still mean 0 by it.
    """
    import tifffile

    with tifffile.TiffFile(path) as file:
        if len(file.series) != 1:
            raise ValueError(f"it holds {len(file.series)} pictures of different kinds, not one picture or volume")
        series = file.series[0]
        refuse_absurd(path, series.shape)
        page = series.keyframe
        turned = page.photometric == tifffile.PHOTOMETRIC.MINISWHITE and series.dtype.kind in "bu"
        white = (1 << page.bitspersample) - 1
        try:
            values = _channels_first(series.asarray(), series.axes)
        except ValueError as error:
            if "imagecodecs" not in str(error):
                raise
            # Pillow knows compressions that tifffile leaves to another package, but has turned 8 bits round already.
            values = load_frames(path)
            values = white - values if turned and page.bitspersample <= 8 else values
        if values.ndim not in (3, 4):
            raise ValueError(f"it has the axes {series.axes}, not rows, columns and perhaps pages or channels")
        transparent = sum(sample in (1, 2) for sample in page.extrasamples)
        values = values[: len(values) - transparent]
        if not colours:
            return values
        if page.colormap is not None:
            return np.asarray(page.colormap[:, values[0]] >> 8, np.uint8)
        values = white - values if turned else values
        return values * np.uint8(255) if page.bitspersample == 1 else values


def tiff_bytes(values: npt.NDArray[Any]) -> bytes:
    """A TIFF of one picture ``(H, W)``, or of a volume ``(D, H, W)`` as pages."""
    import tifffile

    stream = io.BytesIO()
    axes = "ZYX"[-values.ndim :]
    tifffile.imwrite(stream, values, photometric="minisblack", compression="zlib", metadata={"axes": axes})
    return stream.getvalue()


def _channels_first(values: npt.NDArray[Any], axes: str) -> npt.NDArray[Any]:
    values = values.view(np.uint8) if values.dtype == bool else values
    channels = next((axis for axis in "SC" if axis in axes), None)
    return values[None] if channels is None else np.moveaxis(values, axes.index(channels), 0)
