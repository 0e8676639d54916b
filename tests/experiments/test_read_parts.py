from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from truelabel.annotations import Annotations
from truelabel.data import Geometry, ReadImages
from truelabel.experiments.read_parts import as_dataset, cropped, first_images, joined, split_cases

RNG = np.random.default_rng(0)


def read(count: int, start: int = 0) -> ReadImages:
    masks = RNG.integers(0, 2, (count, 2, 4, 6))
    masks[0, 1] = -1
    names = [f"image {start + row}" for row in range(count)]
    said = Annotations.from_masks(masks, classes=("no", "yes"), annotators=("ann", "bob"), examples=names)
    return ReadImages(RNG.integers(0, 256, (count, 1, 4, 6), np.uint8), said, (Geometry((4, 6)),) * count)


def test_cases_are_shared_out_once_each_and_always_alike() -> None:
    names = [f"case {number}" for number in range(259)]
    parts = split_cases(names, (1600, 300, 500))
    assert [len(part) for part in parts] == [173, 32, 54]
    assert sorted(name for part in parts for name in part) == sorted(names)
    assert parts == split_cases(names, (1600, 300, 500))
    assert parts[0] != names[:173]


def test_one_reader_as_truth() -> None:
    images = read(3)
    data = as_dataset(images, "bob", "toy")
    assert (data.labels[0] == -1).all()
    np.testing.assert_array_equal(data.labels, images.annotations.matrix()[:, 1])
    assert data.classes == ("no", "yes")


def test_joined_parts_keep_who_said_what() -> None:
    parts = [read(3), read(2, start=3), read(1, start=5)]
    whole = joined(parts)
    assert whole.names.tolist() == [f"image {row}" for row in range(6)]
    np.testing.assert_array_equal(whole.annotations.matrix(), np.concatenate([p.annotations.matrix() for p in parts]))
    np.testing.assert_array_equal(whole.annotations.take([4, 0]).matrix()[1], parts[0].annotations.matrix()[0])
    assert whole.images is not None
    np.testing.assert_array_equal(whole.images[3:5], parts[1].images)


def test_no_more_is_read_than_needed() -> None:
    begun: list[str] = []

    def part(name: str) -> Iterator[ReadImages]:
        for number in range(3):
            begun.append(f"{name}{number}")
            yield read(4)

    assert len(first_images([part("a"), part("b")], (10, 5), None)) == 15
    assert begun == ["a0", "a1", "a2", "b0", "b1"]
    begun.clear()
    assert len(first_images([part("a"), part("b")], (10, 5), 8)) == 8
    assert begun == ["a0", "a1"]
    begun.clear()
    assert len(first_images([part("a"), part("b")], (10, 5), 11)) == 11
    assert begun == ["a0", "a1", "a2", "b0"]
    assert len(first_images([part("a"), part("b")], (20, 5), 100)) == 12 + 5
    with pytest.raises(ValueError, match="too few cases"):
        first_images([iter(())], (5,), None)


def test_cropped_images_and_masks() -> None:
    images = read(2)
    assert cropped(images, None) is images
    small = cropped(images, (2, 8))
    assert small.images is not None
    assert small.images.shape == (2, 1, 2, 8)
    np.testing.assert_array_equal(small.annotations.label[:, :, 1:-1], images.annotations.label[:, 1:3])
    assert (small.annotations.label[..., 0] == -1).all()
    assert small.geometry[0].shape == (2, 8)
