from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.ndimage import label

from truelabel.corruption import Fracture, TrueMask
from truelabel.corruption.fracture import _away_from, _ends, _erase, _normal


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def bar(width: int = 3, length: int = 40) -> NDArray[Any]:
    return np.pad(np.ones((width, length), np.int16), 6)


@pytest.mark.parametrize("turned", [False, True])
def test_a_bar_breaks_across(turned: bool) -> None:
    mask = bar().T.copy() if turned else bar()
    for seed in range(20):
        gap = mask - Fracture(count=1)(TrueMask(mask), generator(seed))
        assert label(mask - gap)[1] == 2
        along = gap.sum(1 if turned else 0)
        assert set(along.tolist()) == {0, 3}, "the whole width, or nothing"
        # A brush of radius 3 is 7 of 4 x 4 wide, so it covers one pixel at least and two at most.
        assert 1 <= (along > 0).sum() <= 2
        at = np.flatnonzero(along)
        # The skeleton ends before the bar does.
        assert 6 + 2 <= at[0] <= at[-1] < 46 - 2


def test_a_slanted_bar_breaks_across_too() -> None:
    row, column = np.mgrid[:60, :60]
    for angle in np.deg2rad([20, 45, 70, 110, 160]):
        along = (row - 30) * math.sin(angle) + (column - 30) * math.cos(angle)
        across = (column - 30) * math.sin(angle) - (row - 30) * math.cos(angle)
        mask = ((np.abs(along) < 22) & (np.abs(across) < 3)).astype(np.int16)
        for seed in range(5):
            gap = mask - Fracture(count=1)(TrueMask(mask), generator(seed))
            assert label(mask - gap)[1] == 2
            assert np.ptp(along[gap == 1]) < 4
            assert np.ptp(across[gap == 1]) > 4


def test_many_fractures_leave_many_pieces(digits: NDArray[Any]) -> None:
    pieces = [label(Fracture()(TrueMask(mask), generator(i)))[1] for i, mask in enumerate(digits)]
    assert np.mean(pieces) > 1.5 + np.mean([label(mask)[1] for mask in digits])


def test_fractures_only_erase_and_more_erase_more(digits: NDArray[Any]) -> None:
    for i, mask in enumerate(digits[:10]):
        truth, before = TrueMask(mask), mask
        for count in (0, 0.5, 1, 2, 2.7, 5):
            broken = Fracture(count=count)(truth, generator(i))
            assert (broken <= before).all()
            before = broken


def test_a_fraction_is_drawn() -> None:
    truth = TrueMask(bar())
    gaps = [label(Fracture(count=0.25)(truth, generator(seed)))[1] - 1 for seed in range(400)]
    assert set(gaps) == {0, 1}
    assert np.mean(gaps) == pytest.approx(0.25, abs=4 * math.sqrt(0.25 * 0.75 / 400))


def test_tips_and_forks_are_found() -> None:
    cross = np.zeros((9, 9), bool)
    cross[4, 1:8] = cross[1:8, 4] = True
    assert sorted(map(tuple, _ends(cross).tolist())) == [(1, 4), (4, 1), (4, 4), (4, 7), (7, 4)]
    ring = np.zeros((7, 7), bool)
    ring[1:6, 1] = ring[1:6, 5] = ring[1, 1:6] = ring[5, 1:6] = True
    assert not len(_ends(ring))
    edge = np.eye(4, dtype=bool)
    assert _ends(edge).tolist() == [[0, 0], [3, 3]]


def test_points_keep_away_from_ends() -> None:
    points, ends = np.array([[0, 0], [0, 3], [4, 0], [9, 9]]), np.array([[0, 0], [9, 8]])
    assert _away_from(points, ends, 3.0).tolist() == [[0, 3], [4, 0]]
    assert _away_from(points, ends, 50.0).tolist() == points.tolist()
    assert _away_from(points, ends[:0], 3.0).tolist() == points.tolist()


@pytest.mark.parametrize("angle", [0, 30, 60, 90, 135, 170])
def test_the_normal_is_across(angle: int) -> None:
    direction = np.array([math.sin(math.radians(angle)), math.cos(math.radians(angle))])
    line = np.unique(np.rint(np.arange(-30, 31)[:, None] * direction).astype(int), axis=0)
    assert abs(np.dot(_normal(np.array([0, 0]), line), direction)) < 0.1
    assert np.hypot(*_normal(np.array([0, 0]), np.array([[0, 0]]))) == pytest.approx(1)


def test_a_line_is_erased_with_a_round_brush() -> None:
    point, normal, reach, brush = np.array([2, 20]), (0.6, 0.8), 9.5, 3
    fine = np.ones((40, 40), bool)
    _erase(fine, point, normal, reach, brush)
    for row, column in np.ndindex(fine.shape):
        steps = np.linspace(-reach, reach, 2001)
        nearest = np.hypot(row - 2 - steps * 0.6, column - 20 - steps * 0.8).min()
        if abs(nearest - brush) > 1e-3:
            assert fine[row, column] == (nearest > brush)


def test_small_masks_are_no_trouble() -> None:
    empty, pixel = np.zeros((5, 5), np.int16), np.pad(np.ones((1, 1), np.int16), 2)
    assert not Fracture()(TrueMask(empty), generator()).any()
    assert not Fracture()(TrueMask(pixel), generator()).any(), "the only place is the pixel itself"
    full = Fracture()(TrueMask(np.ones((20, 20), np.int16)), generator())
    assert 0 < full.sum() < 400


@pytest.mark.parametrize("name", ["count", "thickness", "prune"])
def test_amounts_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a number of at least 0, got -1"):
        Fracture(**{name: -1})
