from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from scipy import ndimage

from truelabel.data import discs, spheres

MAKERS: list[tuple[Any, tuple[int, ...]]] = [(discs, (40, 56)), (spheres, (24, 32, 40))]


@pytest.mark.parametrize(("make", "size"), MAKERS)
def test_one_ball_is_round_inside_and_of_the_size_promised(make: Any, size: tuple[int, ...]) -> None:
    data = make(30, size, most=1, noise=0.0)
    assert data.inputs.shape == (30, 1, *size)
    assert data.labels.shape == (30, *size)
    least, largest = min(size) / 8, min(size) / 4
    for mask in data.labels:
        assert ndimage.label(mask)[1] == 1
        points = np.argwhere(mask)
        widths = np.ptp(points, axis=0) + 1
        assert widths.max() - widths.min() <= 1
        radius = widths.mean() / 2
        assert least - 0.5 <= radius <= largest + 0.5
        volume = {2: math.pi * radius**2, 3: 4 / 3 * math.pi * radius**3}[len(size)]
        assert len(points) == pytest.approx(volume, rel=0.35)
        assert points.min() >= 0
        assert (points.max(0) < size).all()
    assert np.unique(data.inputs[:, 0][data.labels == 1]).tolist() == [0.75]
    assert np.unique(data.inputs[:, 0][data.labels == 0]).tolist() == [0.25]


@pytest.mark.parametrize(("make", "size"), MAKERS)
def test_there_are_one_to_most_balls(make: Any, size: tuple[int, ...]) -> None:
    found = [ndimage.label(mask)[1] for mask in make(60, size, most=3, noise=0.0).labels]
    assert set(found) == {1, 2, 3}


@pytest.mark.parametrize(("make", "size"), MAKERS)
def test_noise_has_the_spread_asked_for(make: Any, size: tuple[int, ...]) -> None:
    clean, noisy = make(5, size, noise=0.0), make(5, size, noise=0.2)
    np.testing.assert_array_equal(clean.labels, noisy.labels)
    assert (noisy.inputs - clean.inputs).std() == pytest.approx(0.2, rel=0.05)


@pytest.mark.parametrize(("make", "size"), MAKERS)
def test_draws_come_from_the_seed_alone(make: Any, size: tuple[int, ...]) -> None:
    state = torch.get_rng_state()
    first, other = make(3, size, seed=1), make(3, size, seed=2)
    np.testing.assert_array_equal(first.inputs, make(3, size, seed=torch.Generator().manual_seed(1)).inputs)
    assert not np.array_equal(first.labels, other.labels)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"count": 0}, "count"),
        ({"most": 0}, "most"),
        ({"noise": -1}, "noise -1 is not a standard deviation"),
        ({"size": (8, 7)}, r"size \(8, 7\) does not fit: pass 2 numbers of at least 8"),
        ({"size": (8, 8, 8)}, "pass 2 numbers"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        discs(**({"count": 2} | options))
