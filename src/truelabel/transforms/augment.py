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
        return Moves((self,))(batch)

    def draw(self, n: int, device: torch.device) -> Tensor:
        """How far each of n images moves, ``(2, n, 1)``."""
        return torch.randint(-self.padding, self.padding + 1, (2, n, 1), device=device)

    def origin(self, rows: Tensor, columns: Tensor, drawn: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Where pixels come from."""
        return rows + drawn[0], columns + drawn[1]


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
        return Moves((self,))(batch)

    def draw(self, n: int, device: torch.device) -> Tensor:
        """Which of n images are mirrored, ``(n, 1)``."""
        return torch.rand(n, 1, device=device) < self.rate

    def origin(self, rows: Tensor, columns: Tensor, drawn: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Where pixels come from."""
        return rows, torch.where(drawn, width - 1 - columns, columns)


@dataclass(frozen=True)
class Moves:
    """Crops and flips one after another, with one look-up for all: the same pixels as one by one, in fewer kernels.

    Args:
        steps: in order; one crop at most, for what a first has moved out a second could move in again.

    Shapes: inputs ``(N, C, H, W)``; labels ``(N, S)``, or ``(N, H, W, S)``.

    Example:
        >>> slots = torch.zeros(1, 1, dtype=torch.long)
        >>> batch = Batch(torch.ones(1, 1, 9, 9), slots, slots, torch.ones(1, 1), None, torch.arange(1))
        >>> Moves((RandomCrop(padding=2), HorizontalFlip()))(batch).inputs.shape
        torch.Size([1, 1, 9, 9])
    """

    steps: tuple[RandomCrop | HorizontalFlip, ...]

    def __post_init__(self) -> None:
        if sum(isinstance(step, RandomCrop) for step in self.steps) > 1:
            raise ValueError("steps of Moves must have one crop at most: call them one after another")

    def __call__(self, batch: Batch) -> Batch:
        n, device = len(_images(batch)), batch.inputs.device
        height, width = batch.inputs.shape[-2:]
        drawn = [step.draw(n, device) for step in self.steps]
        rows, columns = torch.arange(height, device=device), torch.arange(width, device=device)
        # From the pixel of the outcome back, the last step first.
        for step, chance in zip(reversed(self.steps), reversed(drawn), strict=True):
            rows, columns = step.origin(rows, columns, chance, width)
        return _look_up(batch, rows.expand(n, height), columns.expand(n, width))


AUGMENTATIONS: dict[str, RandomCrop | HorizontalFlip] = {"crop": RandomCrop(), "flip": HorizontalFlip()}
"""By the names that :class:`~truelabel.training.TrainingConfig` knows."""


def augmentation(name: str) -> RandomCrop | HorizontalFlip:
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
    """What does these, for examples of ``shape``; an error if those are no images.

    Example:
        >>> augmentations(["crop", "flip"], (1, 28, 28))
        [Moves(steps=(RandomCrop(padding=4), HorizontalFlip(rate=0.5)))]
    """
    if names and len(shape) != 3:
        listed = ", ".join(names)
        raise ValueError(
            f"augment={listed} is for images (C, H, W), but an example has shape {tuple(shape)}: leave it out"
        )
    steps = tuple(augmentation(name) for name in names)
    together = len(steps) > 1 and sum(isinstance(step, RandomCrop) for step in steps) < 2
    return [Moves(steps)] if together else list(steps)


def _images(batch: Batch) -> Tensor:
    if batch.inputs.dim() != 4:
        raise ValueError(f"inputs must be images (N, C, H, W) to be augmented, got {tuple(batch.inputs.shape)}")
    return batch.inputs


def _look_up(batch: Batch, rows: Tensor, columns: Tensor) -> Batch:
    """Pixel (h, w) of example n comes from ``(rows[n, h], columns[n, w])``; outside there is zero, and no label."""
    height, width = batch.inputs.shape[-2:]
    near_rows, near_columns = rows.clamp(0, height - 1), columns.clamp(0, width - 1)
    inside = (rows == near_rows).unsqueeze(-1) & (columns == near_columns).unsqueeze(-2)
    place = near_rows.unsqueeze(-1) * width + near_columns.unsqueeze(-2)

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
