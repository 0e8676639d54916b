from __future__ import annotations

from pathlib import Path

import numpy as np

from truelabel.data import ReadImages, cityscapes, pascal_voc
from truelabel.experiments.stand_ins.scenes import write_cityscapes, write_pascal_voc


def colours(data: ReadImages) -> dict[int, np.ndarray]:
    """The mean colour of each class."""
    assert data.images is not None
    pixels, labels = data.images.transpose(0, 2, 3, 1), data.annotations.matrix()[:, 0]
    return {int(label): pixels[labels == label].mean(0) for label in np.unique(labels) if label >= 0}


def test_things_have_the_colour_of_their_class(tmp_path: Path) -> None:
    write_pascal_voc(tmp_path, 24, np.random.default_rng(0))
    train, val = pascal_voc("train", tmp_path, crop=(64, 64)), pascal_voc("val", tmp_path, crop=(64, 64))
    assert (len(train), len(val)) == (24, 12)
    seen, again = colours(train), colours(val)
    assert set(seen) == set(again) == set(range(21))
    for label, colour in seen.items():
        np.testing.assert_allclose(colour, again[label], atol=12)
    assert (train.annotations.label == -1).mean() > 0.01


def test_streets(tmp_path: Path) -> None:
    write_cityscapes(tmp_path, 24, np.random.default_rng(0))
    train, val = cityscapes("train", tmp_path), cityscapes("val", tmp_path)
    assert (len(train), len(val)) == (24, 12)
    assert train.annotations.space == (48, 96)
    seen, again = colours(train), colours(val)
    assert set(seen) == set(again) == set(range(19))
    for label, colour in seen.items():
        np.testing.assert_allclose(colour, again[label], atol=5)
    assert (train.annotations.label[:, -4:] == -1).all()
