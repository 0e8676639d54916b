from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest
import torch
from torch import Tensor

from truelabel.transforms import AUGMENTATIONS, HorizontalFlip, Moves, RandomCrop, augmentations
from truelabel.types import Batch


def images(n: int, height: int = 6, width: int = 7) -> Batch:
    """Pixels that tell where they were: no two are equal, none is zero."""
    inputs = 1.0 + torch.arange(n * 2 * height * width, dtype=torch.float).view(n, 2, height, width)
    labels = torch.randint(3, (n, 2))
    return Batch(inputs, labels, torch.zeros_like(labels), torch.ones(n, 2), None, torch.arange(n))


def maps(n: int, height: int = 6, width: int = 7) -> Batch:
    """Label maps and soft targets that repeat the first channel of the inputs."""
    batch = images(n, height, width)
    labels = batch.inputs[:, 0].long().unsqueeze(-1).repeat(1, 1, 1, 2)
    soft = labels.unsqueeze(-1).float() * torch.tensor([1.0, 10.0, 100.0])
    return batch._replace(labels=labels, soft=soft)


def shifted(image: Tensor, down: int, right: int) -> Tensor:
    """A crop of the padded image, the way torchvision does it."""
    padded = torch.nn.functional.pad(image, (9, 9, 9, 9))
    height, width = image.shape[-2:]
    return padded[..., 9 + down : 9 + down + height, 9 + right : 9 + right + width]


def test_a_crop_is_a_crop_of_the_padded_image_and_all_are_met_equally_often() -> None:
    batch = images(4000, 5, 5)
    cropped = RandomCrop(padding=2)(batch).inputs
    counts = torch.zeros(5, 5)
    found = torch.zeros(4000, dtype=torch.bool)
    for down in range(-2, 3):
        for right in range(-2, 3):
            same = (shifted(batch.inputs, down, right) == cropped).flatten(1).all(1)
            assert not (found & same).any()
            found |= same
            counts[down + 2, right + 2] = same.sum()
    assert found.all()
    # Of 4,000 a twenty-fifth each, 160 with a standard deviation of 12.
    assert ((counts - 160).abs() < 60).all()


def test_a_flip_mirrors_half_of_the_images() -> None:
    batch = images(2000)
    flipped = HorizontalFlip()(batch).inputs
    mirrored = (flipped == batch.inputs.flip(-1)).flatten(1).all(1)
    left = (flipped == batch.inputs).flatten(1).all(1)
    assert (mirrored ^ left).all()
    assert 900 < mirrored.sum() < 1100
    assert torch.equal(HorizontalFlip(0.0)(batch).inputs, batch.inputs)
    assert torch.equal(HorizontalFlip(1.0)(batch).inputs, batch.inputs.flip(-1))


@pytest.mark.parametrize("transform", [RandomCrop(2), HorizontalFlip(0.5)])
def test_label_maps_and_targets_move_along(transform: RandomCrop | HorizontalFlip) -> None:
    moved = transform(maps(50))
    first = moved.inputs[:, 0]
    outside = first == 0
    for slot in range(2):
        assert torch.equal(moved.labels[..., slot], torch.where(outside, -1, first.long()))
        assert moved.soft is not None
        for k, scale in enumerate([1.0, 10.0, 100.0]):
            torch.testing.assert_close(moved.soft[..., slot, k], scale * first)
    assert outside.any() == isinstance(transform, RandomCrop)


@pytest.mark.parametrize("transform", [RandomCrop(), HorizontalFlip()])
def test_one_label_an_image_stays(transform: RandomCrop | HorizontalFlip) -> None:
    batch = images(8)
    moved = transform(batch)
    assert torch.equal(moved.labels, batch.labels)
    assert moved.inputs.shape == batch.inputs.shape
    assert moved.inputs.dtype == batch.inputs.dtype


@pytest.mark.parametrize("transform", [RandomCrop(), HorizontalFlip()])
def test_vectors_are_refused(transform: RandomCrop | HorizontalFlip) -> None:
    batch = images(3)._replace(inputs=torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"inputs must be images \(N, C, H, W\) to be augmented, got \(3, 5\)"):
        transform(batch)


@pytest.mark.parametrize("steps", [(RandomCrop(2), HorizontalFlip()), (HorizontalFlip(), RandomCrop(2))])
@pytest.mark.parametrize("made", [images, maps])
def test_several_moves_at_once_are_the_same_as_one_after_another(
    steps: tuple[RandomCrop | HorizontalFlip, ...], made: Callable[[int], Batch]
) -> None:
    torch.manual_seed(0)
    batch = made(60)
    torch.manual_seed(1)
    together = Moves(steps)(batch)
    torch.manual_seed(1)
    drawn = [step.draw(60, torch.device("cpu")) for step in steps]
    for step, chance in zip(steps, drawn, strict=True):
        with mock.patch.object(type(step), "draw", lambda *told, chance=chance: chance):
            batch = step(batch)
    assert torch.equal(together.inputs, batch.inputs)
    assert torch.equal(together.labels, batch.labels)
    assert (together.soft is None) == (batch.soft is None)
    if together.soft is not None and batch.soft is not None:
        assert torch.equal(together.soft, batch.soft)
    assert (together.inputs == 0).any()


def test_two_crops_are_not_one_move() -> None:
    with pytest.raises(ValueError, match="steps of Moves must have one crop at most"):
        Moves((RandomCrop(1), RandomCrop(2)))


def test_options_check_themselves() -> None:
    with pytest.raises(ValueError, match="padding must be a whole number of at least 1, got 0"):
        RandomCrop(0)
    with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\], got 1.5"):
        HorizontalFlip(1.5)


def test_by_name() -> None:
    both = (AUGMENTATIONS["flip"], AUGMENTATIONS["crop"])
    assert augmentations(["flip", "crop"], (3, 32, 32)) == [Moves(both)]
    assert augmentations(["crop", "crop:2"], (3, 32, 32)) == [RandomCrop(4), RandomCrop(2)]
    assert augmentations(["crop:2"], (3, 32, 32)) == [RandomCrop(2)]
    assert augmentations([], (5,)) == []
    with pytest.raises(ValueError, match=r"augment=crop is for images \(C, H, W\), but an example has shape \(5,\)"):
        augmentations(["crop"], (5,))


@pytest.mark.parametrize("name", ["turn", "crop:", "crop:0", "crop:-1", "crop:1.5", "flip:2", 3])
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"augment must be a tuple of crop, flip, crop:PIXELS, got {name!r} in it"):
        augmentations([name], (3, 32, 32))
