"""A reader who swells a stroke at one point (Castro 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch

from truelabel.checks import check_amount
from truelabel.corruption.true_mask import SCALE, Mask, TrueMask


@dataclass(frozen=True)
class Swelling:
    r"""Swells a stroke around a point c of the skeleton: what is near c is shown larger.

    .. math:: m'(c + v) = m(c + (d / R)^{\gamma - 1} v), \quad d = |v|, \quad R = \rho \, s \sqrt{\bar t} / 2

    Here :math:`\bar t` is the mean thickness of the strokes, s = 4 the enlargement (:class:`TrueMask`). Of
    two-dimensional binary masks.

    Args:
        strength: γ of at least 1, which changes nothing.
        radius: ρ.

    Example:
        >>> bar = np.pad(np.ones((2, 20), int), 8)
        >>> swollen = Swelling()(TrueMask(bar), torch.Generator().manual_seed(0))
        >>> (swollen >= bar).all(), swollen.sum(0).max()
        (np.True_, np.int64(6))
    """

    strength: float = 3.0
    radius: float = 7.0

    def __post_init__(self) -> None:
        check_amount("radius", self.radius)
        if not 1 <= self.strength < math.inf:
            raise ValueError(f"strength must be at least 1, which changes nothing, got {self.strength!r}")

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        skeleton = np.argwhere(truth.skeleton)
        radius = self.radius * SCALE * math.sqrt(truth.thickness) / 2
        if not len(skeleton) or not radius:
            return truth.mask.copy()
        reach = math.floor(radius)
        margin = -(-reach // SCALE)
        wide = np.pad(truth.fine, margin * SCALE)
        centre = skeleton[int(torch.randint(len(skeleton), (), generator=generator))] + margin * SCALE
        down, right = np.mgrid[-reach : reach + 1, -reach : reach + 1]
        distance = np.hypot(down, right)
        nearer = np.where(distance <= radius, (distance / radius) ** (self.strength - 1), 1.0)
        rows, columns = (np.rint(nearer * offset).astype(int) for offset in (down, right))
        around = tuple(slice(at - reach, at + reach + 1) for at in centre)
        wide[around] = wide[rows + centre[0], columns + centre[1]]
        return truth.redrawn(wide, margin)
