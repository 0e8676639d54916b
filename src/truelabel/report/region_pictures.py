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

SIDE = 240
"""The longest, of a picture of a region."""

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
        ``(h, w, 3)`` bytes; small pictures are enlarged, so that outlines do not cover what they surround.
    """
    if image.ndim == 4:
        where = min(place.get("slice", image.shape[1] // 2), image.shape[1] - 1)
        image = image[:, where]
        mask, believed = (None if own is None else own[where] for own in (mask, believed))
    pixels = to_bytes(flat(image))
    height, width = pixels.shape[:2]
    factor = SIDE / max(height, width)
    size = (max(1, round(height * factor)), max(1, round(width * factor)))
    picture = pixels if pixels.ndim == 3 else np.repeat(pixels[..., None], 3, -1)
    canvas: NDArray[np.uint8] = np.ascontiguousarray(np.moveaxis(resize(np.moveaxis(picture, -1, 0), size, 0), 0, -1))
    for own, colour in ((believed, BELIEVED), (mask, READER)):
        if own is not None:
            canvas[_outline(resize(own, size, 0))] = colour
    if {"top", "left", "bottom", "right"} <= place.keys():
        ends = [round(place[side] * factor) for side in ("top", "left", "bottom", "right")]
        top, left = (min(max(end, 0), most - 1) for end, most in zip(ends[:2], size, strict=True))
        bottom, right = (min(max(end, 0), most - 1) for end, most in zip(ends[2:], size, strict=True))
        for rows, columns in (
            ([top, bottom], slice(left, right + 1)),
            (slice(top, bottom + 1), [left, right]),
        ):
            canvas[rows, columns] = BOX
    return canvas


def _outline(mask: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Pixels whose class is not that of the pixel above or to the left."""
    edge = np.zeros(mask.shape, bool)
    edge[1:] |= mask[1:] != mask[:-1]
    edge[:, 1:] |= mask[:, 1:] != mask[:, :-1]
    return edge
