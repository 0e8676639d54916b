"""Readers of lesions, as of the experiment of Zhang 2020 on multiple sclerosis: binary masks of any dimension."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from truelabel.checks import check_amount, check_whole
from truelabel.corruption.reader import whole_number
from truelabel.corruption.true_mask import Mask, TrueMask


@dataclass(frozen=True)
class EdgeAdded:
    """Over-segments: the mask and its edge.

    The edge is every voxel with a neighbour across a face that is on the other side of the boundary. Half of it lies
    outside the mask, so that one layer of voxels is added each time.

    Args:
        times: how often; a fraction is drawn, so that 1.5 is once or twice.

    Example:
        >>> EdgeAdded()(TrueMask([[0, 0, 0], [0, 0, 1], [0, 0, 0]]), torch.Generator()).tolist()
        [[0, 0, 1], [0, 1, 1], [0, 0, 1]]
    """

    times: float = 1

    def __post_init__(self) -> None:
        check_amount("times", self.times)

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        from scipy.ndimage import binary_dilation

        times = whole_number(self.times, generator)
        drawn: Mask = _foreground(truth)
        if times:
            drawn = binary_dilation(drawn, iterations=times)
        return drawn.astype(truth.mask.dtype)


@dataclass(frozen=True)
class EdgeRemoved:
    """Under-segments: the mask without its edge, which is that of :class:`EdgeAdded`. The image has none at its border.

    Args:
        times: how often; a fraction is drawn, so that 1.5 is once or twice.

    Example:
        >>> EdgeRemoved(1)(TrueMask([[0, 1, 1, 1, 1, 0, 1]]), torch.Generator()).tolist()
        [[0, 0, 1, 1, 0, 0, 0]]
    """

    times: float = 2

    def __post_init__(self) -> None:
        check_amount("times", self.times)

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        from scipy.ndimage import binary_erosion

        times = whole_number(self.times, generator)
        drawn: Mask = _foreground(truth)
        if times:
            drawn = binary_erosion(drawn, iterations=times, border_value=1)
        return drawn.astype(truth.mask.dtype)


@dataclass(frozen=True)
class BlocksDropped:
    """Misses blocks: of the foreground voxels in scan order (last axis fastest), the first ``length`` of ``period``.

    Args:
        length: voxels that are missed; a fraction is drawn for each mask, so that 1.5 is one or two.
        period: voxels from the start of a block to that of the next.

    Example:
        >>> BlocksDropped(length=1, period=3)(TrueMask([[1, 0, 1], [1, 1, 1]]), torch.Generator()).tolist()
        [[0, 0, 1], [1, 0, 1]]
    """

    length: float = 100
    period: int = 200

    def __post_init__(self) -> None:
        check_amount("length", self.length)
        check_whole("period", self.period)

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        mask, length = truth.mask.copy(), whole_number(self.length, generator)
        foreground = np.flatnonzero(mask)
        mask.reshape(-1)[foreground[np.arange(len(foreground)) % self.period < length]] = 0
        return mask


def _foreground(truth: TrueMask) -> Mask:
    if truth.mask.size and not 0 <= truth.mask.min() <= truth.mask.max() <= 1:
        raise ValueError(
            f"edges are those of a mask of zeros and ones, got values {truth.mask.min()}..{truth.mask.max()}: "
            "use readers of label maps"
        )
    return truth.mask > 0
