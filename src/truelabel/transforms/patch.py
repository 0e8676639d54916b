"""Random patches of images that are too large to be trained on whole."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from truelabel.checks import check_whole
from truelabel.types import Batch


@dataclass(frozen=True)
class RandomPatch:
    """Cut a patch out of every image, its corner uniform over all that fit; label maps along with it.

    Args:
        size: of the patch, a number for each axis; at most the size of the image.

    Shapes: inputs ``(N, C, *space)`` become ``(N, C, *size)``, labels ``(N, *space, S)`` become ``(N, *size, S)``.

    Example:
        >>> labels, slots = torch.zeros(1, 9, 9, 1, dtype=torch.long), torch.zeros(1, 1, dtype=torch.long)
        >>> batch = Batch(torch.ones(1, 2, 9, 9), labels, slots, torch.ones(1, 1), None, torch.arange(1))
        >>> patch = RandomPatch((4, 6))(batch)
        >>> patch.inputs.shape, patch.labels.shape
        (torch.Size([1, 2, 4, 6]), torch.Size([1, 4, 6, 1]))
    """

    size: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.size) not in (2, 3):
            raise ValueError(f"size of a patch must be (H, W) or (D, H, W), got {self.size!r}")
        for side in self.size:
            check_whole("a side of a patch", side)

    def __call__(self, batch: Batch) -> Batch:
        space = batch.inputs.shape[2:]
        if batch.labels.shape[1:-1] != space:
            raise ValueError(f"patches need a label for each pixel of {tuple(space)}, got {tuple(batch.labels.shape)}")
        if len(self.size) != len(space) or any(side > whole for side, whole in zip(self.size, space, strict=True)):
            raise ValueError(f"a patch of {self.size} does not fit into images of {tuple(space)}: make it smaller")
        place = self._place(len(batch.inputs), tuple(space), batch.inputs.device)

        def cut(values: Tensor) -> Tensor:
            """``(N, A, *space)`` to ``(N, A, *size)``."""
            flat = values.flatten(2).gather(2, place.unsqueeze(1).expand(-1, values.shape[1], -1))
            patches: Tensor = flat.unflatten(2, self.size)
            return patches

        labels = cut(batch.labels.movedim(-1, 1)).movedim(1, -1)
        soft = batch.soft
        if soft is not None:
            soft = cut(soft.flatten(-2).movedim(-1, 1)).movedim(1, -1).unflatten(-1, soft.shape[-2:])
        return batch._replace(inputs=cut(batch.inputs), labels=labels, soft=soft)

    def _place(self, examples: int, space: tuple[int, ...], device: torch.device) -> Tensor:
        """Where each pixel of a patch stands in the image, counted along: ``(N, pixels)``."""
        place = torch.zeros(examples, *[1] * len(space), dtype=torch.long, device=device)
        for axis, (side, whole) in enumerate(zip(self.size, space, strict=True)):
            first = torch.randint(whole - side + 1, (examples, 1), device=device)
            along = first + torch.arange(side, device=device)
            shape = [examples, *(side if other == axis else 1 for other in range(len(space)))]
            place = place * whole + along.view(shape)
        return place.flatten(1)
