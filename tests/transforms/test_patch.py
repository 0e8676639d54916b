from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor

from truelabel.transforms import RandomPatch
from truelabel.types import Batch


def maps(n: int, space: tuple[int, ...]) -> Batch:
    """Pixels that tell where they were, in two channels; labels and soft targets of two slots repeat the first."""
    pixels = 1 + torch.arange(n * torch.Size(space).numel()).view(n, *space)
    labels = torch.stack([pixels, 1000 * pixels], -1)
    soft = labels.unsqueeze(-1) * torch.tensor([1.0, 10.0, 100.0])
    annotators = torch.arange(2).expand(n, -1)
    inputs = torch.stack([pixels, -pixels], 1).float()
    return Batch(inputs, labels, annotators, torch.rand(n, 2), soft, torch.arange(n))


def corners(whole: Tensor, part: Tensor) -> Tensor:
    """Where each patch ``(N, C, *size)`` lies in its image ``(N, C, *space)``, by trying everywhere: ``(N, dims)``."""
    size = part.shape[2:]
    found = torch.full((len(part), len(size)), -1)
    rooms = [range(there - side + 1) for there, side in zip(whole.shape[2:], size, strict=True)]
    for corner in itertools.product(*rooms):
        at = tuple(slice(first, first + side) for first, side in zip(corner, size, strict=True))
        same = (whole[(slice(None), slice(None), *at)] == part).flatten(1).all(1)
        found[same] = torch.tensor(corner)
    return found


@pytest.mark.parametrize(
    ("space", "size"), [((5, 7), (3, 4)), ((5, 7), (5, 1)), ((4, 5, 6), (2, 5, 3)), ((3, 4), (3, 4))], ids=str
)
def test_a_patch_is_a_part_of_the_image_and_labels_come_along(space: tuple[int, ...], size: tuple[int, ...]) -> None:
    batch = maps(40, space)
    cut = RandomPatch(size)(batch)
    assert cut.inputs.shape == (40, 2, *size)
    # Pixels are all different, so a patch that is found anywhere has nothing from outside and nothing out of place.
    assert (corners(batch.inputs, cut.inputs) >= 0).all()
    pixels = cut.inputs[:, 0]
    assert torch.equal(cut.labels, torch.stack([pixels, 1000 * pixels], -1).long())
    assert cut.soft is not None
    for k, scale in enumerate((1.0, 10.0, 100.0)):
        torch.testing.assert_close(cut.soft[..., k], scale * cut.labels)
    for kept in ("annotators", "weights", "index"):
        assert torch.equal(getattr(cut, kept), getattr(batch, kept))
    assert (cut.inputs.dtype, cut.labels.dtype) == (batch.inputs.dtype, batch.labels.dtype)


def test_all_places_are_met_equally_often_and_images_have_their_own() -> None:
    batch = maps(3000, (5, 4))
    found = corners(batch.inputs, RandomPatch((3, 3))(batch).inputs)
    counts = torch.bincount(found[:, 0] * 2 + found[:, 1], minlength=6)
    # Of 3,000 a sixth each, 500 with a standard deviation of 20.
    assert len(counts) == 6
    assert ((counts - 500).abs() < 100).all()


def test_a_batch_without_targets_has_none_afterwards() -> None:
    assert RandomPatch((2, 2))(maps(3, (4, 4))._replace(soft=None)).soft is None


def test_pixels_without_a_label_stay_so() -> None:
    batch = maps(20, (6, 6))
    labels = torch.where(batch.inputs.movedim(1, -1) > 0, batch.labels, -1)
    cut = RandomPatch((3, 3))(batch._replace(labels=labels))
    assert torch.equal(cut.labels[..., 0], cut.inputs[:, 0].long())
    assert (cut.labels[..., 1] == -1).all()


@pytest.mark.parametrize("size", [(), (3,), (2, 2, 2, 2)])
def test_a_patch_has_two_axes_or_three(size: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"size of a patch must be \(H, W\) or \(D, H, W\), got \("):
        RandomPatch(size)


@pytest.mark.parametrize("side", [0, -1, 2.5, True])
def test_a_side_is_a_whole_number(side: Any) -> None:
    with pytest.raises(ValueError, match="a side of a patch must be a whole number of at least 1"):
        RandomPatch((3, side))


@pytest.mark.parametrize("size", [(5, 4), (4, 5), (2, 2, 2)])
def test_a_patch_that_does_not_fit_is_refused(size: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"does not fit into images of \(4, 4\): make it smaller"):
        RandomPatch(size)(maps(2, (4, 4)))


def test_one_label_an_image_cannot_be_cut() -> None:
    batch = maps(2, (4, 4))
    with pytest.raises(ValueError, match=r"patches need a label for each pixel of \(4, 4\), got \(2, 2\)"):
        RandomPatch((2, 2))(batch._replace(labels=torch.zeros(2, 2, dtype=torch.long)))
