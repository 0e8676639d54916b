"""Answers for large images, window by window."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

Window = tuple[slice, ...]


def windows(space: Sequence[int], patch: Sequence[int] | None, overlap: float = 0.0) -> list[Window]:
    """Windows that cover an image: equally far apart, the last flush with the end, neighbours overlapping enough.

    Args:
        space: of the image.
        patch: of a window; the whole image where that is smaller, or if None.
        overlap: share of a window that the next one covers again, at least.

    Example:
        >>> windows((10,), (4,))
        [(slice(0, 4, None),), (slice(3, 7, None),), (slice(6, 10, None),)]
    """
    check_overlap(overlap)
    patch = space if patch is None else [min(side, whole) for side, whole in zip(patch, space, strict=True)]
    axes = []
    for whole, side in zip(space, patch, strict=True):
        stride = max(1, int(side * (1 - overlap)))
        count = 1 + math.ceil((whole - side) / stride)
        starts = [round(i * (whole - side) / max(count - 1, 1)) for i in range(count)]
        axes.append([slice(start, start + side) for start in starts])
    return list(itertools.product(*axes))


def check_overlap(overlap: float) -> None:
    """Raise a one-line ValueError if windows that overlap so would leave gaps, or never end."""
    if not 0 <= overlap < 1:
        raise ValueError(f"overlap must lie in [0, 1), got {overlap!r}")


def pieces(values: Tensor, patch: Sequence[int] | None) -> Iterator[tuple[Window, Tensor]]:
    """``values (N, C, *space)`` in windows that hardly overlap."""
    for window in windows(values.shape[2:], patch):
        yield window, values[(slice(None), slice(None), *window)]


def stitched(
    answer: Callable[[Tensor], Tensor], inputs: Tensor, patch: Sequence[int] | None, overlap: float = 0.5
) -> Tensor:
    """An answer for each pixel from those for windows; where they overlap, pixels far from a border count more.

    Args:
        answer: ``(N, C, *patch) -> (N, *patch, ...)``.
        inputs: ``(N, C, *space)``.
        patch: of a window; the whole image if None.
        overlap: share of a window that the next one covers again, at least.

    Returns:
        ``(N, *space, ...)`` on the CPU.

    Example:
        >>> images = torch.rand(2, 1, 9, 7)
        >>> torch.allclose(stitched(lambda part: part.movedim(1, -1), images, (4, 4)), images.movedim(1, -1))
        True
    """
    space = inputs.shape[2:]
    total, weight = torch.zeros(()), torch.zeros(space)
    for window in windows(space, patch, overlap):
        values = answer(inputs[(slice(None), slice(None), *window)]).cpu()
        if values.shape[1 : 1 + len(space)] == space:
            return values
        if not total.dim():
            total = values.new_zeros(len(values), *space, *values.shape[1 + len(space) :])
        ramp = _ramp([side.stop - side.start for side in window])
        tail = [1] * (values.dim() - 1 - len(space))
        total[(slice(None), *window)] += values * ramp.view(*ramp.shape, *tail).to(values.dtype)
        weight[window] += ramp
    return total / weight.view(*space, *[1] * (total.dim() - 1 - len(space))).to(total.dtype)


def _ramp(sides: Sequence[int]) -> Tensor:
    """Weights that fall towards the borders of a window, and never to zero."""
    ramp = torch.ones(())
    for side in sides:
        place = torch.arange(side) + 1.0
        ramp = ramp.unsqueeze(-1) * torch.minimum(place, place.flip(0))
    return ramp
