from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel.corruption import Swelling, TrueMask


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def reference(mask: NDArray[Any], strength: float, radius: float, seed: int) -> NDArray[Any]:
    """Pixel by pixel on the whole enlarged image, with a margin for what lies outside."""
    truth, margin = TrueMask(mask), 12
    fine = np.zeros([4 * (size + 2 * margin) for size in mask.shape], bool)
    top, left = (4 * (start + margin) for start in truth.corner)
    fine[top : top + truth.fine.shape[0], left : left + truth.fine.shape[1]] = truth.fine
    points = np.argwhere(truth.skeleton)
    row, column = points[int(torch.randint(len(points), (), generator=generator(seed)))] + [top, left]
    reach = radius * math.sqrt(truth.thickness) / 2 * 4
    swollen = fine.copy()
    for i, j in np.ndindex(fine.shape):
        distance = math.hypot(i - row, j - column)
        if distance <= reach:
            nearer = (distance / reach) ** (strength - 1)
            swollen[i, j] = fine[round(row + nearer * (i - row)), round(column + nearer * (j - column))]
    share = swollen.reshape(len(fine) // 4, 4, -1, 4).mean((1, 3))
    redrawn: NDArray[Any] = (share >= 0.5)[margin:-margin, margin:-margin].astype(mask.dtype)
    return redrawn


@pytest.mark.parametrize(("strength", "radius"), [(3.0, 7.0), (1.5, 4.0), (2.0, 12.0)])
def test_it_follows_its_formula(digits: NDArray[Any], strength: float, radius: float) -> None:
    for seed, mask in enumerate(digits[:3]):
        drawn = Swelling(strength, radius)(TrueMask(mask), generator(seed))
        np.testing.assert_array_equal(drawn, reference(mask, strength, radius, seed))


def test_a_stroke_becomes_thicker_at_one_point() -> None:
    bar = np.pad(np.ones((3, 40), np.int16), 8)
    for seed in range(5):
        swollen = Swelling()(TrueMask(bar), generator(seed))
        assert (swollen >= bar).all()
        height = swollen.sum(0)
        assert height.max() >= 7
        thick = np.flatnonzero(height > 3)
        assert (np.diff(thick) == 1).all()
        assert len(thick) < 14, "two radii of 7 · √3 / 2"


def test_strength_one_changes_nothing(digits: NDArray[Any]) -> None:
    for strength, radius in ((1.0, 7.0), (3.0, 0.0)):
        np.testing.assert_array_equal(Swelling(strength, radius)(TrueMask(digits[0]), generator()), digits[0])


def test_small_and_full_masks_are_no_trouble() -> None:
    assert not Swelling()(TrueMask(np.zeros((5, 5), np.int16)), generator()).any()
    assert Swelling()(TrueMask(np.ones((5, 9), np.int16)), generator()).all()
    pixel = Swelling()(TrueMask(np.pad(np.ones((1, 1), np.int16), 4)), generator())
    assert pixel[4, 4]
    assert pixel.sum() > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"strength": 0.5}, "strength must be at least 1, which changes nothing, got 0.5"),
        ({"strength": float("nan")}, "strength must be at least 1"),
        ({"radius": -1}, "radius must be a number of at least 0, got -1"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Swelling(**options)
