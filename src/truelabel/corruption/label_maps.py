"""Readers of label maps, as of the BraTS experiment of Zhang 2020: masks of several classes, of any dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from truelabel.checks import check_amount
from truelabel.corruption.reader import whole_number
from truelabel.corruption.true_mask import Mask, TrueMask


@dataclass(frozen=True)
class GreyDilation:
    """Over-segments: each voxel gets the largest label of the cube around it, in 2D of the square.

    Which class grows over which follows from their numbers alone, as in the published code. (Its paper says that one
    class is chosen and transformed.)

    Args:
        radius: the cube is ``2 radius + 1`` wide; a fraction is drawn, so that 1.5 is one or two.

    Example:
        >>> GreyDilation()(TrueMask([[0, 0, 1, 2, 1]]), torch.Generator()).tolist()
        [[0, 1, 2, 2, 2]]
    """

    radius: float = 1

    def __post_init__(self) -> None:
        check_amount("radius", self.radius)

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        from scipy.ndimage import maximum_filter

        largest: Mask = maximum_filter(truth.mask, 2 * whole_number(self.radius, generator) + 1)
        return largest


@dataclass(frozen=True)
class GreyErosion:
    """Under-segments: each voxel gets the smallest label of the cube around it, in 2D of the square.

    Args:
        radius: the cube is ``2 radius + 1`` wide; a fraction is drawn, so that 1.5 is one or two.

    Example:
        >>> GreyErosion()(TrueMask([[0, 1, 1, 1, 2, 2]]), torch.Generator()).tolist()
        [[0, 0, 1, 1, 1, 2]]
    """

    radius: float = 1

    def __post_init__(self) -> None:
        check_amount("radius", self.radius)

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        from scipy.ndimage import minimum_filter

        smallest: Mask = minimum_filter(truth.mask, 2 * whole_number(self.radius, generator) + 1)
        return smallest


@dataclass(frozen=True)
class Relabelling:
    """Takes classes for others, always the same.

    Args:
        classes: ``(K,)``, what class 0, 1, 2, … is called.

    Example:
        >>> Relabelling([0, 3, 1, 2])(TrueMask([[0, 1, 2, 3]]), torch.Generator()).tolist()
        [[0, 3, 1, 2]]
    """

    classes: Sequence[int]

    def __post_init__(self) -> None:
        if not self.classes or not all(0 <= name < len(self.classes) for name in self.classes):
            raise ValueError(f"classes must be a class for each of 0, 1, 2, …, got {list(self.classes)}")

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        names = np.asarray(self.classes, truth.mask.dtype)
        if truth.mask.size and truth.mask.max() >= len(names):
            raise ValueError(f"classes names {len(names)}, but the mask has class {truth.mask.max()}")
        called: Mask = names[truth.mask]
        return called
