"""A reader whose strokes are broken (Castro 2019)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from truelabel.checks import check_amount
from truelabel.corruption.reader import whole_number
from truelabel.corruption.true_mask import SCALE, Fine, Mask, TrueMask

Points = NDArray[np.int64]

_REACH = 2 * SCALE
"""How far along the skeleton its direction is measured, in pixels of the enlarged mask."""


@dataclass(frozen=True)
class Fracture:
    r"""Breaks strokes: erases lines across the skeleton at points drawn from it.

    The points lie at least ``prune`` pixels from its tips and forks, or anywhere on it if none does. A line reaches
    :math:`d + s / 2` to both sides of its point, where d is the distance to the background and s = 4 the enlargement
    (:class:`TrueMask`); its brush is a disk of radius :math:`⌈(w s - 1) / 2⌉`. Of two-dimensional binary
    masks. Across is perpendicular to the principal axis of the skeleton within two pixels of the point.

    Args:
        count: lines; a fraction is drawn, so that 2.5 are two or three.
        thickness: w, of a line, in pixels of the mask.
        prune: in pixels of the mask.

    Example:
        >>> bar = np.pad(np.ones((3, 30), int), 8)
        >>> broken = Fracture(count=1)(TrueMask(bar), torch.Generator().manual_seed(0))
        >>> (bar - broken).sum(0).nonzero()[0].tolist()  # columns that lack something
        [30, 31]
    """

    count: float = 3
    thickness: float = 1.5
    prune: float = 2.0

    def __post_init__(self) -> None:
        for name in ("count", "thickness", "prune"):
            check_amount(name, getattr(self, name))

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        count = whole_number(self.count, generator)
        skeleton = np.argwhere(truth.skeleton)
        if not count or not len(skeleton):
            return truth.mask.copy()
        points = _away_from(skeleton, _ends(truth.skeleton), self.prune * SCALE)
        fine = truth.fine.copy()
        brush = max(0, math.ceil((self.thickness * SCALE - 1) / 2))
        # Any number of points begins with the same ones, so that more fractures never erase less.
        for point in points[torch.randperm(len(points), generator=generator)[:count].numpy()]:
            reach = float(truth.distance[tuple(point)]) + SCALE / 2
            _erase(fine, point, _normal(point, skeleton), reach, brush)
        return truth.redrawn(fine)


def _ends(skeleton: Fine) -> Points:
    """Tips and forks ``(Q, 2)``: around them the skeleton begins once, or three times and more."""
    framed = np.pad(skeleton, 1)
    shifts = [(-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1)]
    around = np.stack([np.roll(framed, shift, (0, 1)) for shift in shifts])
    begins = (around & ~np.roll(around, 1, 0)).sum(0)[1:-1, 1:-1]
    return np.argwhere(skeleton & ((begins == 1) | (begins >= 3)))


def _away_from(points: Points, ends: Points, least: float) -> Points:
    """The points at least so far from all ends; all of them if there are none."""
    from scipy.spatial.distance import cdist

    far = (cdist(points, ends) >= least).all(1)
    return points[far] if far.any() else points


def _normal(point: Points, skeleton: Points) -> tuple[float, float]:
    """Across the skeleton at a point of it."""
    offsets = (skeleton - point).astype(np.float64)
    near = offsets[(offsets**2).sum(1) <= _REACH**2]
    (rows, both), (_, columns) = np.cov(near.T, bias=True) if len(near) > 1 else np.zeros((2, 2))
    along = 0.5 * math.atan2(2 * both, rows - columns)
    return -math.sin(along), math.cos(along)


def _erase(fine: Fine, point: Points, normal: tuple[float, float], reach: float, brush: int) -> None:
    """Clear what lies within ``brush`` of the line through ``point`` that goes ``reach`` to both sides."""
    half = math.ceil(reach) + brush
    low = np.maximum(point - half, 0)
    part = fine[low[0] : point[0] + half + 1, low[1] : point[1] + half + 1]
    row, column = np.ogrid[: part.shape[0], : part.shape[1]]
    down, right = row + low[0] - point[0], column + low[1] - point[1]
    along = np.clip(down * normal[0] + right * normal[1], -reach, reach)
    part[(down - along * normal[0]) ** 2 + (right - along * normal[1]) ** 2 <= brush**2] = False
