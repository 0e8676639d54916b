"""Parts of images that were read with their masks: shared out by case, cut short, joined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from truelabel.annotations import Annotations
from truelabel.data import Dataset, ReadImages, centre_crop
from truelabel.types import MISSING

SPLIT_SEED = 0
"""Files that carry no split are split by case, the same way every time."""


def split_cases(names: Sequence[str], shares: Sequence[int]) -> list[list[str]]:
    """Share out cases at random, in these proportions and always in the same way.

    Example:
        >>> [len(part) for part in split_cases([f"case {i}" for i in range(12)], (1600, 300, 500))]
        [8, 2, 2]
    """
    order = np.random.default_rng(SPLIT_SEED).permutation(len(names))
    ends = np.rint(np.cumsum(shares) / sum(shares) * len(names)).astype(int)
    return [[names[case] for case in part] for part in np.split(order, ends[:-1])]


def as_dataset(read: ReadImages, reader: str, name: str) -> Dataset:
    """Images with the masks of one reader as truth; -1 all over where that reader drew nothing."""
    assert read.images is not None
    said = read.annotations
    rows = said.annotators[said.annotator] == reader
    labels = np.full((len(read), *said.space), MISSING, np.int16)
    labels[said.example[rows]] = said.label[rows]
    return Dataset(read.images, labels, read.classes, name)


def first_images(parts: Sequence[Iterator[ReadImages]], most: Sequence[int], count: int | None) -> ReadImages:
    """The first images of each part, at most so many, and ``count`` in all; no more files are read than needed.

    Raises:
        ValueError: if there are none.
    """
    found: list[ReadImages] = []
    wanted = sum(most) if count is None else count
    for part, limit in zip(parts, most, strict=False):
        left = min(limit, wanted)
        while left > 0 and (piece := next(part, None)) is not None:
            piece = piece.take(np.arange(min(left, len(piece))))
            found.append(piece)
            left -= len(piece)
            wanted -= len(piece)
    if not found:
        raise ValueError("there are too few cases to share out: a part of them is empty")
    return joined(found)


def joined(parts: Sequence[ReadImages]) -> ReadImages:
    """All images one after the other; readers and classes are those of the first part, which all share."""
    said = [part.annotations for part in parts]
    starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
    annotations = Annotations(
        np.concatenate([one.example + start for one, start in zip(said, starts, strict=True)]).astype(np.int32),
        np.concatenate([one.annotator for one in said]),
        np.concatenate([one.label for one in said]),
        np.concatenate([one.examples for one in said]),
        said[0].annotators,
        said[0].classes,
    )
    images = np.concatenate([part.images for part in parts if part.images is not None])
    return ReadImages(images, annotations, tuple(grid for part in parts for grid in part.geometry))


def cropped(read: ReadImages, crop: Sequence[int] | None) -> ReadImages:
    """Images and masks cut or padded to this size round the centre; None leaves them as they are."""
    if crop is None or read.images is None:
        return read
    label = centre_crop(read.annotations.label, crop, fill=MISSING)
    grids = tuple(grid.cropped(crop) for grid in read.geometry)
    return ReadImages(centre_crop(read.images, crop), replace(read.annotations, label=label), grids)
