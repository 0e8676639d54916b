from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel.corruption import BlocksDropped, EdgeAdded, EdgeRemoved, TrueMask


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def edge(mask: NDArray[Any]) -> NDArray[Any]:
    """Voxels with a neighbour across a face of another value."""
    found = np.zeros(mask.shape, bool)
    for place in np.ndindex(mask.shape):
        for axis in range(mask.ndim):
            for step in (-1, 1):
                other = list(place)
                other[axis] += step
                if 0 <= other[axis] < mask.shape[axis]:
                    found[place] |= mask[place] != mask[tuple(other)]
    return found


@pytest.fixture(params=[(30,), (12, 11), (6, 7, 8)], ids=["1d", "2d", "3d"])
def mask(request: pytest.FixtureRequest) -> NDArray[Any]:
    noise: NDArray[Any] = np.random.default_rng(3).random(request.param) > 0.2
    return noise.astype(np.int16)


@pytest.mark.parametrize("times", [0, 1, 2, 3])
def test_edges_are_added_and_removed(mask: NDArray[Any], times: int) -> None:
    over, under = mask.copy(), mask.copy()
    for _ in range(times):
        over = (over.astype(bool) | edge(over)).astype(np.int16)
        under = (under.astype(bool) & ~edge(under)).astype(np.int16)
    np.testing.assert_array_equal(EdgeAdded(times)(TrueMask(mask), generator()), over)
    np.testing.assert_array_equal(EdgeRemoved(times)(TrueMask(mask), generator()), under)


def test_a_fraction_is_drawn() -> None:
    ball = TrueMask(np.pad(np.ones((5, 5, 5), np.int16), 4))
    sizes = [int(EdgeAdded(0.5)(ball, generator(seed)).sum()) for seed in range(100)]
    assert set(sizes) == {125, 125 + 6 * 25}
    assert 30 <= sizes.count(125) <= 70


@pytest.mark.parametrize("reader", [EdgeAdded(), EdgeRemoved()])
def test_without_a_boundary_there_is_no_edge(reader: Any) -> None:
    for value in (0, 1):
        same = np.full((4, 5, 6), value, np.int16)
        np.testing.assert_array_equal(reader(TrueMask(same), generator()), same)


def test_blocks_are_dropped_in_scan_order(mask: NDArray[Any]) -> None:
    seen, expected = 0, mask.copy()
    for place in np.ndindex(mask.shape):
        if mask[place]:
            if seen % 7 < 3:
                expected[place] = 0
            seen += 1
    np.testing.assert_array_equal(BlocksDropped(3, 7)(TrueMask(mask), generator()), expected)


def test_a_fraction_of_a_block_is_drawn() -> None:
    row = TrueMask(np.ones((1, 20), np.int16))
    sizes = [int(BlocksDropped(2.5, 10)(row, generator(seed)).sum()) for seed in range(100)]
    assert set(sizes) == {16, 14}
    assert 30 <= sizes.count(16) <= 70


def test_a_hundred_of_two_hundred_are_dropped() -> None:
    full = np.ones((10, 10, 10), np.int16)
    dropped = BlocksDropped()(TrueMask(full), generator())
    assert dropped.sum((1, 2)).tolist() == [0, 100] * 5
    assert full.all(), "the truth is left alone"


def test_other_masks_are_refused() -> None:
    for reader in (EdgeAdded(), EdgeRemoved()):
        with pytest.raises(ValueError, match=r"edges are those of a mask of zeros and ones, got values 0\.\.2"):
            reader(TrueMask(np.array([[0, 2]])), generator())


@pytest.mark.parametrize("make", [lambda: EdgeAdded(-1), lambda: EdgeRemoved(-1)])
def test_times_that_are_none_are_refused(make: Any) -> None:
    with pytest.raises(ValueError, match="times must be a number of at least 0, got -1"):
        make()


def test_blocks_that_are_none_are_refused() -> None:
    with pytest.raises(ValueError, match="length must be a number of at least 0, got -1"):
        BlocksDropped(length=-1)
    with pytest.raises(ValueError, match="period must be a whole number of at least 1, got 0"):
        BlocksDropped(period=0)
