"""Made-up scenes with a mask each: Pascal VOC 2012 and Cityscapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

from truelabel.experiments.stand_ins.patterns import Bytes, noisy

_VOID = 255
_CITY_IDS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)
_CITY_VOID = 3  # "out of roi", which counts as no class
_CITIES = {"train": "aachen", "val": "frankfurt"}
_VOC_SIZES = ((48, 64), (64, 48), (48, 48))
_CITY_SIZE = (48, 96)
_THINGS = 3
"""In each picture, each of another class."""


def write_pascal_voc(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Boxes in the colours of their classes, outlined by void, in ``VOCdevkit/VOC2012/``; pictures differ in size."""
    top = root / "VOCdevkit" / "VOC2012"
    colours = rng.uniform(30, 225, (21, 3))
    for part, count, year in (("train", examples, 2007), ("val", max(2, examples // 2), 2008)):
        names = [f"{year}_{number:06d}" for number in range(count)]
        for number, name in enumerate(names):
            classes = 1 + (number * _THINGS + np.arange(_THINGS)) % 20
            mask = _boxes(rng, _VOC_SIZES[number % len(_VOC_SIZES)], 0, classes, outline=_VOID)
            _save(top / "JPEGImages" / f"{name}.jpg", _picture(rng, colours[np.where(mask == _VOID, 0, mask)]))
            _save(top / "SegmentationClass" / f"{name}.png", mask)
        listed = top / "ImageSets" / "Segmentation" / f"{part}.txt"
        listed.parent.mkdir(parents=True, exist_ok=True)
        listed.write_text("\n".join(names) + "\n", encoding="utf-8")


def write_cityscapes(root: Path, examples: int, rng: np.random.Generator) -> None:
    """A road with boxes of other classes on it, and a void strip below, in ``cityscapes/``."""
    top = root / "cityscapes"
    colours = rng.uniform(30, 225, (256, 3))
    others = np.array(_CITY_IDS[1:])
    for part, count in (("train", examples), ("val", max(2, examples // 2))):
        city = _CITIES[part]
        for number in range(count):
            name = f"{city}_000000_{number:06d}"
            classes = others[(number * _THINGS + np.arange(_THINGS)) % len(others)]
            mask = _boxes(rng, _CITY_SIZE, _CITY_IDS[0], classes)
            mask[-4:] = _CITY_VOID
            _save(top / "leftImg8bit" / part / city / f"{name}_leftImg8bit.png", _picture(rng, colours[mask]))
            _save(top / "gtFine" / part / city / f"{name}_gtFine_labelIds.png", mask)


def _boxes(
    rng: np.random.Generator,
    size: tuple[int, int],
    ground: int,
    classes: npt.NDArray[np.int64],
    outline: int | None = None,
) -> Bytes:
    """A mask with one box of each class, side by side so that none hides another."""
    mask = np.full(size, ground, np.uint8)
    width = size[1] // len(classes)
    for place, label in enumerate(classes):
        top, bottom = rng.integers(2, size[0] // 3), rng.integers(size[0] // 2, size[0] - 6)
        left = place * width + rng.integers(1, 4)
        right = (place + 1) * width - rng.integers(1, 4)
        if outline is not None:
            mask[top - 1 : bottom + 1, left - 1 : right + 1] = outline
        mask[top:bottom, left:right] = label
    return mask


def _picture(rng: np.random.Generator, clean: npt.NDArray[np.float64]) -> Bytes:
    return noisy(rng, clean, spread=15)


def _save(path: Path, pixels: Bytes) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, compress_level=1, quality=95)
