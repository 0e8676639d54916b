"""Augmentation of images, on the device where the training happens."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from truelabel.transforms.transform import Transform
from truelabel.types import MISSING, Batch


@dataclass(frozen=True)
class RandomCrop:
    r"""Shift every image by its own :math:`(d_y, d_x)`, each uniform on :math:`\{-p, \dots, p\}`; zeros move in.

    This is a random crop of the original size from the image padded with p zeros on every side. Label maps move along,
    and pixels that come from outside have no label.

    Args:
        padding: p; 4 as a rule for CIFAR and Fashion-MNIST.

    Shapes: inputs ``(N, C, H, W)``; labels ``(N, S)``, or ``(N, H, W, S)``.

    Example:
        >>> slots = torch.zeros(1, 1, dtype=torch.long)
        >>> batch = Batch(torch.ones(1, 1, 9, 9), slots, slots, torch.ones(1, 1), None, torch.arange(1))
        >>> RandomCrop(padding=2)(batch).inputs.shape
        torch.Size([1, 1, 9, 9])
    """

    padding: int = 4

    def __post_init__(self) -> None:
        if self.padding != int(self.padding) or self.padding < 1:
            raise ValueError(f"padding must be a whole number of at least 1, got {self.padding!r}")

    def __call__(self, batch: Batch) -> Batch:
        n, device = len(_images(batch)), batch.inputs.device
        shift = torch.randint(-self.padding, self.padding + 1, (2, n, 1), device=device)
        rows = torch.arange(batch.inputs.shape[-2], device=device) + shift[0]
        columns = torch.arange(batch.inputs.shape[-1], device=device) + shift[1]
        return _look_up(batch, rows, columns)


@dataclass(frozen=True)
class HorizontalFlip:
    """Mirror every image, left to right, with probability ``rate``; label maps along with it.

    Args:
        rate: one half as a rule.

    Shapes: inputs ``(N, C, H, W)``; labels ``(N, S)``, or ``(N, H, W, S)``.

    Example:
        >>> slots = torch.zeros(1, 1, dtype=torch.long)
        >>> batch = Batch(torch.tensor([[[[1.0, 2.0]]]]), slots, slots, torch.ones(1, 1), None, torch.arange(1))
        >>> HorizontalFlip(rate=1.0)(batch).inputs
        tensor([[[[2., 1.]]]])
    """

    rate: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.rate <= 1:
            raise ValueError(f"rate must lie in [0, 1], got {self.rate!r}")

    def __call__(self, batch: Batch) -> Batch:
        n, device = len(_images(batch)), batch.inputs.device
        height, width = batch.inputs.shape[-2:]
        flipped = torch.rand(n, 1, device=device) < self.rate
        columns = torch.arange(width, device=device)
        rows = torch.arange(height, device=device).expand(n, height)
        return _look_up(batch, rows, torch.where(flipped, columns.flip(0), columns))


AUGMENTATIONS: dict[str, Transform] = {"crop": RandomCrop(), "flip": HorizontalFlip()}
"""By the names that :class:`~truelabel.training.TrainingConfig` knows."""


def augmentation(name: str) -> Transform:
    """The transform of a name in :data:`AUGMENTATIONS`, or "crop:2" for shifts of up to 2 pixels.

    Example:
        >>> augmentation("crop"), augmentation("crop:2")
        (RandomCrop(padding=4), RandomCrop(padding=2))
    """
    if name in AUGMENTATIONS:
        return AUGMENTATIONS[name]
    if isinstance(name, str) and (sized := re.fullmatch(r"crop:([1-9]\d*)", name)):
        return RandomCrop(int(sized[1]))
    known = ", ".join(AUGMENTATIONS)
    raise ValueError(f"augment must be a tuple of {known}, crop:PIXELS, got {name!r} in it")


def augmentations(names: Sequence[str], shape: Sequence[int]) -> list[Transform]:
    """The transforms of these names, for examples of ``shape``; an error if those are no images.

    Example:
        >>> augmentations(["crop", "flip"], (1, 28, 28))
        [RandomCrop(padding=4), HorizontalFlip(rate=0.5)]
    """
    if names and len(shape) != 3:
        listed = ", ".join(names)
        raise ValueError(
            f"augment={listed} is for images (C, H, W), but an example has shape {tuple(shape)}: leave it out"
        )
    return [augmentation(name) for name in names]


def _images(batch: Batch) -> Tensor:
    if batch.inputs.dim() != 4:
        raise ValueError(f"inputs must be images (N, C, H, W) to be augmented, got {tuple(batch.inputs.shape)}")
    return batch.inputs


def _look_up(batch: Batch, rows: Tensor, columns: Tensor) -> Batch:
    """Pixel (h, w) of example n comes from ``(rows[n, h], columns[n, w])``; outside there is zero, and no label."""
    height, width = batch.inputs.shape[-2:]
    inside = ((rows >= 0) & (rows < height)).unsqueeze(-1) & ((columns >= 0) & (columns < width)).unsqueeze(-2)
    place = rows.clamp(0, height - 1).unsqueeze(-1) * width + columns.clamp(0, width - 1).unsqueeze(-2)

    def moved(values: Tensor, fill: float) -> Tensor:
        """``(N, A, H, W)``, channels before space."""
        flat = values.flatten(2).gather(2, place.view(len(place), 1, -1).expand(-1, values.shape[1], -1))
        return torch.where(inside.unsqueeze(1), flat.view(values.shape), fill)

    batch = batch._replace(inputs=moved(batch.inputs, 0.0))
    if batch.labels.dim() == 2:
        return batch
    labels = moved(batch.labels.movedim(-1, 1), MISSING).movedim(1, -1)
    soft = batch.soft
    if soft is not None:
        slots, classes = soft.shape[-2:]
        soft = moved(soft.flatten(-2).movedim(-1, 1), 0.0).movedim(1, -1).unflatten(-1, (slots, classes))
    return batch._replace(labels=labels, soft=soft)
