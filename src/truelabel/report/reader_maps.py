"""Where each reader of images errs, and where the network is unsure."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truelabel.data import resize
from truelabel.report.study import Study
from truelabel.report.thumbnails import Thumbnail, array_thumbnail

IMAGES = 8
"""Images over which maps are averaged: a few, since the network answers for each."""

SIZE = (96, 96)
"""Of maps whose images differ in size."""

OVER, UNDER, UNSURE = (200, 30, 30), (30, 70, 200), (120, 40, 160)


class ReaderMap(NamedTuple):
    """Where a reader draws too much and too little: maps, and the shares of pixels."""

    name: str
    over: Thumbnail
    under: Thumbnail
    over_share: float
    under_share: float


class DoubtMap(NamedTuple):
    """An image, where the answer is unsure (entropy), and how far draws of it spread (variance; None without draws)."""

    name: str
    picture: Thumbnail
    entropy: Thumbnail
    variance: Thumbnail | None


def reader_maps(study: Study, most: int = IMAGES) -> list[ReaderMap]:
    """Mean over- and under-segmentation of every reader over a few images."""
    people = [str(name) for name in study.segmenter.annotators_]
    over, under = [], []
    for name in study.names[:most]:
        maps = study.segmenter.error_maps(study.scan(name).image[None])
        over.append(np.asarray(maps.over[0]))
        under.append(np.asarray(maps.under[0]))
    if not over:
        return []
    means = [_mean(kind) for kind in (over, under)]
    shares = [[float(np.mean([own[r].mean() for own in kind])) for r in range(len(people))] for kind in (over, under)]
    highest = max(float(mean.max()) for mean in means) or 1.0
    return [
        ReaderMap(
            name,
            tinted(means[0][r] / highest, OVER),
            tinted(means[1][r] / highest, UNDER),
            shares[0][r],
            shares[1][r],
        )
        for r, name in enumerate(people)
    ]


def doubt_maps(study: Study, names: list[str]) -> list[DoubtMap]:
    """How sure the answer is at each pixel of these images; see :meth:`truelabel.TrueLabelSegmenter.uncertainty`."""
    found = []
    for name in names:
        image = study.scan(name).image
        maps = study.segmenter.uncertainty(image[None])
        entropy, variance = np.asarray(maps.entropy[0]), np.asarray(maps.variance[0]).sum(0)
        drawn = variance.max() > 1e-8
        found.append(
            DoubtMap(
                name,
                array_thumbnail(flat(image)),
                tinted(_middle(entropy) / np.log(max(2, len(study.segmenter.classes_))), UNSURE),
                tinted(_middle(variance) / variance.max(), UNSURE) if drawn else None,
            )
        )
    return found


def flat(image: NDArray[Any]) -> NDArray[Any]:
    """One picture, ``(H, W)`` or ``(3, H, W)``, of an image ``(C, *space)``: of a volume the middle slice."""
    image = image if len(image) == 3 and image.ndim == 3 else image[:1]
    while image.ndim > 3:
        image = image[:, image.shape[1] // 2]
    return image if len(image) == 3 else image[0]


def tinted(shares: NDArray[np.float64], colour: tuple[int, int, int]) -> Thumbnail:
    """Shares ``(H, W)`` in 0 to 1 as a picture, from white to a colour."""
    depth = np.clip(shares, 0, 1)[..., None]
    return array_thumbnail((255 + depth * (np.array(colour) - 255)).round().astype(np.uint8))


def _mean(maps: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Of maps ``(R, *space)`` of some images; of volumes the mean over slices."""
    pictures = [own.mean(tuple(range(1, own.ndim - 2))) if own.ndim > 3 else own for own in maps]
    if len({own.shape for own in pictures}) > 1:
        pictures = [resize(own, SIZE) for own in pictures]
    return np.asarray(np.mean(pictures, axis=0))


def _middle(values: NDArray[np.float64]) -> NDArray[np.float64]:
    while values.ndim > 2:
        values = values[len(values) // 2]
    return values
