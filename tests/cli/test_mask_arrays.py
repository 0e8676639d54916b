"""Masks in one array file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.cli.mask_arrays import masks_of_array
from truelabel.cli.mask_reading import MaskReading

MASKS = np.random.default_rng(0).integers(0, 3, (11, 2, 4, 5))


@pytest.mark.parametrize(
    ("array", "names", "space"),
    [
        (MASKS[0], ["masks"], (4, 5)),
        (MASKS, [f"{n:02}" for n in range(11)], (4, 5)),
        (MASKS.reshape(11, 2, 2, 2, 5), [f"{n:02}" for n in range(11)], (2, 2, 5)),
        (MASKS.astype(np.float32), [f"{n:02}" for n in range(11)], (4, 5)),
    ],
    ids=["(R, H, W)", "(N, R, H, W)", "(N, R, D, H, W)", "floats"],
)
def test_shapes(array: np.ndarray, names: list[str], space: tuple[int, ...], tmp_path: Path) -> None:
    np.save(tmp_path / "masks.npy", array)
    source = masks_of_array(tmp_path / "masks.npy", MaskReading())
    images = list(source.images())
    assert [image.name for image in images] == names
    assert {(image.ending, image.geometry.shape) for image in images} == {(".npy", space)}
    assert (source.readers, source.classes, source.values) == (("0", "1"), (0, 1, 2), (0, 1, 2))
    assert np.array_equal(np.concatenate([image.masks.matrix() for image in images]), array.reshape(-1, 2, *space))


def test_missing_void_and_names(tmp_path: Path) -> None:
    masks = np.array([[[[0, 4]], [[255, 255]], [[4, 255]]], [[[255, 255]]] * 3], np.uint8)
    np.save(tmp_path / "masks.npy", masks)
    reading = MaskReading(readers=("ann", "bob", "cid"), classes={0: "none", 4: "cell"}, void=(255,))
    source = masks_of_array(tmp_path / "masks.npy", reading)
    assert (source.count, source.masks, source.readers) == (1, 2, ("ann", "cid"))
    assert (source.classes, source.values) == (("none", "cell"), (0, 4))
    assert source.left_out == {"image": 1, "reader": 1}
    (image,) = source.images()
    assert image.masks.matrix().tolist() == [[[[0, 1]], [[1, -1]]]]


@pytest.mark.parametrize(
    ("array", "reading", "message"),
    [
        (MASKS.reshape(11, 2, 1, 1, 4, 5), MaskReading(), r"masks are \(R, H, W\), \(N, R, H, W\) or"),
        (MASKS, MaskReading(readers=("ann",)), "--readers names 1, but .* has masks by 2: name each of them"),
        (MASKS - 3, MaskReading(), "holds -3, so it holds no masks: these are 0, 1, 2"),
        (np.arange(200).reshape(2, 10, 10), MaskReading(), "holds 200 different numbers, so it holds no masks"),
        (np.full((2, 3, 3), -1), MaskReading(), "there are no labels in"),
        (MASKS + 0.5, MaskReading(), "fraction"),
        (MASKS, MaskReading(classes=2), "label 2 in row"),
    ],
)
def test_what_holds_no_masks(array: np.ndarray, reading: MaskReading, message: str, tmp_path: Path) -> None:
    np.save(tmp_path / "masks.npy", array)
    with pytest.raises(ValueError, match=message):
        masks_of_array(tmp_path / "masks.npy", reading)


def test_the_digest_tells_masks_apart(tmp_path: Path) -> None:
    digests = set()
    for array in (MASKS, MASKS[::-1], MASKS[:, ::-1], MASKS.reshape(11, 2, 5, 4)):
        np.save(tmp_path / "masks.npy", array)
        digests.add(masks_of_array(tmp_path / "masks.npy", MaskReading()).digest)
    assert len(digests) == 4
