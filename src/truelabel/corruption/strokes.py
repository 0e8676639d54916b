"""Readers who draw strokes too thick or too thin (Castro 2019)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from truelabel.checks import check_amount
from truelabel.corruption.true_mask import SCALE, Mask, TrueMask


@dataclass(frozen=True)
class Thickening:
    r"""Over-segments: dilates the enlarged mask with a disk of radius :math:`\lfloor a s \bar t / 2 \rfloor`.

    Here :math:`\bar t` is the mean thickness of the strokes, s = 4 the enlargement (:class:`TrueMask`). Of
    two-dimensional binary masks.

    Args:
        amount: a; 1 adds half the mean thickness on both sides, which makes strokes about twice as thick.

    Example:
        >>> bar = TrueMask(np.pad(np.ones((2, 12), int), 8))
        >>> Thickening(1.0)(bar, torch.Generator())[5:13, 14].tolist()
        [0, 0, 1, 1, 1, 1, 0, 0]
    """

    amount: float = 1.0

    def __post_init__(self) -> None:
        check_amount("amount", self.amount)

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        from scipy.ndimage import distance_transform_edt

        radius = _radius(self.amount, truth)
        if not radius:
            return truth.mask.copy()
        margin = -(-radius // SCALE)
        # Distances to the foreground, cut at the radius, are a dilation by a disk, and cost the same for every radius.
        away = distance_transform_edt(~np.pad(truth.fine, margin * SCALE))
        return truth.redrawn(away <= radius, margin)


@dataclass(frozen=True)
class Thinning:
    r"""Under-segments: erodes the enlarged mask with a disk of radius :math:`\lfloor a s \bar t / 2 \rfloor`.

    Here :math:`\bar t` is the mean thickness of the strokes, s = 4 the enlargement (:class:`TrueMask`). Of
    two-dimensional binary masks. Strokes thinner than the mean may vanish.

    Args:
        amount: a; 1 takes about half the mean thickness from both sides, which leaves hardly anything.

    Example:
        >>> bar = TrueMask(np.pad(np.ones((4, 12), int), 8))
        >>> Thinning(0.5)(bar, torch.Generator())[7:13, 14].tolist()
        [0, 0, 1, 1, 0, 0]
    """

    amount: float = 0.7

    def __post_init__(self) -> None:
        check_amount("amount", self.amount)

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        radius = _radius(self.amount, truth)
        return truth.redrawn(truth.distance > radius) if radius else truth.mask.copy()


def _radius(amount: float, truth: TrueMask) -> int:
    return int(amount * SCALE * truth.thickness / 2)
