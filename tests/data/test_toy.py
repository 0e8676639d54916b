from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from truelabel.data import digits, two_circles, two_moons


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_moons_without_noise_lie_on_their_half_circles() -> None:
    data = two_moons(401, 0.0, seeded())
    upper, lower = data.inputs[data.labels == 0], data.inputs[data.labels == 1]
    assert (len(upper), len(lower)) == (201, 200)
    np.testing.assert_allclose(np.hypot(*upper.T), 1, rtol=1e-6)
    np.testing.assert_allclose(np.hypot(*(lower - [1, 0.5]).T), 1, rtol=1e-6)
    assert (upper[:, 1] >= 0).all()
    assert (lower[:, 1] <= 0.5).all()
    # A half circle is covered evenly: its mean is (0, 2 / pi).
    np.testing.assert_allclose(upper.mean(0), [0, 2 / np.pi], atol=0.1)


def test_circles_without_noise_have_two_radii() -> None:
    data = two_circles(200, 0.0, seeded(), factor=0.3)
    radius = np.hypot(*data.inputs.T)
    np.testing.assert_allclose(radius, np.where(data.labels == 0, 1, 0.3), rtol=1e-6)
    np.testing.assert_allclose(data.inputs.mean(0), 0, atol=0.15)


@pytest.mark.parametrize("make", [two_moons, two_circles])
def test_noise_has_the_spread_asked_for(make: Any) -> None:
    clean, noisy = make(4000, 0.0, seeded()), make(4000, 0.3, seeded())
    np.testing.assert_array_equal(clean.labels, noisy.labels)
    np.testing.assert_allclose((noisy.inputs - clean.inputs).std(0), 0.3, rtol=0.05)
    assert noisy.inputs.dtype == np.float32


@pytest.mark.parametrize("make", [two_moons, two_circles])
def test_all_randomness_comes_from_the_generator(make: Any) -> None:
    state = torch.get_rng_state()
    first, again, other = make(50, 0.1, seeded(1)), make(50, 0.1, seeded(1)), make(50, 0.1, seeded(2))
    np.testing.assert_array_equal(first.inputs, again.inputs)
    assert not np.array_equal(first.inputs, other.inputs)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("make", [two_moons, two_circles])
def test_wrong_arguments_are_named(make: Any) -> None:
    with pytest.raises(ValueError, match="n is 1"):
        make(1, 0.1, seeded())
    with pytest.raises(ValueError, match="noise -1"):
        make(10, -1, seeded())
    with pytest.raises(ValueError, match="factor 2"):
        two_circles(10, 0.1, seeded(), factor=2)


def test_digits_are_those_of_scikit_learn() -> None:
    data, (features, target) = digits(), load_digits(return_X_y=True)
    assert data.inputs.shape == (1797, 1, 8, 8)
    np.testing.assert_array_equal(data.labels, target)
    np.testing.assert_allclose(data.scaled().reshape(1797, 64), features / 16, atol=0.002)
