"""Suspect regions of masks: the image, what the reader drew, and what the network believes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.data import resize
from truelabel.report.exhibits import Exhibit
from truelabel.report.reader_maps import flat
from truelabel.report.study import Study
from truelabel.report.suspects import Suspect
from truelabel.report.thumbnails import array_thumbnail, to_bytes

SIDE = 216
"""The longest, of a picture of a region."""

WHOLE = 96
"""Images up to this side are shown whole; of larger ones, what is round the region."""

READER, BELIEVED, BOX = (255, 150, 0), (0, 190, 255), (255, 60, 200)

BELIEFS = 40
"""Images for which the network is asked; the rest show the reader's outline only."""


def region_pictures(study: Study, suspects: Sequence[Suspect], most: int) -> tuple[list[Exhibit | None], list[str]]:
    """A picture for each of the first ``most`` suspects, None where there is none; and notes on what was left out."""
    pictures: list[Exhibit | None] = []
    believed: dict[str, NDArray[np.int64]] = {}
    failed: list[str] = []
    for suspect in suspects[:most]:
        try:
            scan = study.scan(suspect.example)
        except (LookupError, ValueError, OSError):
            failed.append(suspect.example)
            pictures.append(None)
            continue
        if suspect.example not in believed and len(believed) < BELIEFS:
            believed[suspect.example] = study.believed(scan.image)
        drawn = draw_region(scan.image, scan.masks.get(suspect.annotator), believed.get(suspect.example), suspect.place)
        pictures.append(Exhibit(picture=array_thumbnail(drawn, SIDE)))
    pictures += [None] * (len(suspects) - len(pictures))
    notes = []
    if failed:
        notes.append(
            f"{len(failed)} regions have no picture, such as one of {failed[0]!r}: files have changed or moved."
        )
    return pictures, notes


def draw_region(
    image: NDArray[Any],
    mask: NDArray[np.int64] | None,
    believed: NDArray[np.int64] | None,
    place: dict[str, int],
) -> NDArray[np.uint8]:
    """Outlines on a picture, in colours: reader orange, network blue, the box of the region pink.

    Args:
        image: ``(C, H, W)``, or ``(C, D, H, W)``, of which one slice is shown.
        mask: what the reader drew, ``(*space)``; None if unknown.
        believed: likewise, what the network says.
        place: the box of the region: ``top``, ``left``, ``bottom``, ``right`` in pixels, and ``slice`` of a volume.

    Returns:
        ``(h, w, 3)`` bytes: of a large image the surroundings of the region; enlarged if small, so that outlines do not
        cover what they surround.
    """
    if image.ndim == 4:
        where = min(place.get("slice", image.shape[1] // 2), image.shape[1] - 1)
        image = image[:, where]
        mask, believed = (None if own is None else own[where] for own in (mask, believed))
    pixels = to_bytes(flat(image))
    box = [place.get(side) for side in ("top", "left", "bottom", "right")]
    rows, columns = (_window(box[axis], box[axis + 2], pixels.shape[axis]) for axis in (0, 1))
    pixels = pixels[rows, columns]
    factor = SIDE / max(pixels.shape[:2])
    size = (max(1, round(pixels.shape[0] * factor)), max(1, round(pixels.shape[1] * factor)))
    picture = pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, -1)
    canvas: NDArray[np.uint8] = np.ascontiguousarray(np.moveaxis(resize(np.moveaxis(picture, -1, 0), size, 0), 0, -1))
    for own, colour in ((believed, BELIEVED), (mask, READER)):
        if own is not None:
            canvas[_outline(resize(own[rows, columns], size, 0))] = colour
    if None not in box:
        starts = (rows.start, columns.start) * 2
        ends = [round((int(side or 0) - start) * factor) for side, start in zip(box, starts, strict=True)]
        _draw_box(canvas, *ends)
    return canvas


def _window(low: int | None, high: int | None, extent: int) -> slice:
    """What is shown of an axis: all of a small image, else the region with as much again on either side."""
    if low is None or high is None or extent <= WHOLE:
        return slice(0, extent)
    width = min(extent, max(WHOLE, 3 * (high - low)))
    start = min(max((low + high - width) // 2, 0), extent - width)
    return slice(start, start + width)


def _draw_box(canvas: NDArray[np.uint8], top: int, left: int, bottom: int, right: int) -> None:
    """A frame two pixels wide round rows ``top`` to ``bottom`` and columns ``left`` to ``right``, cut at the edges."""
    height, width = canvas.shape[:2]
    top, bottom = (min(max(end, 1), height - 1) for end in (top, bottom))
    left, right = (min(max(end, 1), width - 1) for end in (left, right))
    for row in (top, bottom):
        canvas[row - 1 : row + 1, left - 1 : right + 1] = BOX
    for column in (left, right):
        canvas[top - 1 : bottom + 1, column - 1 : column + 1] = BOX


def _outline(mask: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Pixels beside a pixel of another class, on either side."""
    edge = np.zeros(mask.shape, bool)
    for own, turned in ((edge, mask), (edge.T, mask.T)):
        differs = turned[1:] != turned[:-1]
        own[1:] |= differs
        own[:-1] |= differs
    return edge
