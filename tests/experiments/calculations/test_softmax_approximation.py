from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats

from truelabel.experiments.calculations.softmax_approximation import largest_probability, softmax_approximation


@pytest.mark.parametrize(("location", "scale"), [((0.3, -0.4), (1.0, 2.0)), ((-1.0, 1.0), (0.5, 0.1))])
def test_the_larger_of_two(location: tuple[float, float], scale: tuple[float, float]) -> None:
    closed = stats.norm.cdf((location[0] - location[1]) / math.hypot(*scale))
    assert largest_probability(torch.tensor(location), torch.tensor(scale)) == pytest.approx(closed, abs=1e-6)


def test_the_largest_of_three_by_counting() -> None:
    location, scale = np.array([1.0, 0.0, -1.0]), np.array([1.0, 0.5, 2.0])
    drawn = location + scale * np.random.default_rng(0).normal(size=(400_000, 3))
    exact = softmax_approximation(0, temperature=1.0, samples=1, replicates=2)["exact"]
    assert exact == pytest.approx((drawn.argmax(1) == 0).mean(), abs=4e-3)


@pytest.mark.parametrize("temperature", [0.5, 3.0])
def test_the_bias_of_two_classes_by_quadrature(temperature: float) -> None:
    location, scale = (0.8, 0.0), (1.0, 0.5)
    # Only the difference counts: a sigmoid of one normal number.
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    difference = location[0] - location[1] + math.hypot(*scale) * nodes
    smooth = (weights / weights.sum()) @ (1 / (1 + np.exp(-difference / temperature)))
    expected = abs(smooth - stats.norm.cdf((location[0] - location[1]) / math.hypot(*scale)))
    found = softmax_approximation(0, temperature=temperature, samples=1, location=location, scale=scale, replicates=2)
    assert found["bias"] == pytest.approx(expected, abs=3e-3)


def test_cold_estimates_are_counts() -> None:
    cold = softmax_approximation(0, temperature=1e-4, samples=50, replicates=2000)
    expected = math.sqrt(cold["exact"] * (1 - cold["exact"]) / 50)
    assert cold["probability_deviation"] == pytest.approx(expected, rel=0.08)
    assert cold["bias"] < 1e-3


def test_the_gradient_is_that_of_the_log_of_the_mean() -> None:
    location, scale = (0.5, 0.0, -0.5), (1.0, 1.0, 0.3)
    found = softmax_approximation(
        7, temperature=0.6, samples=20, location=location, scale=scale, replicates=30
    )  # fmt: skip
    generator = torch.Generator().manual_seed(7)
    torch.randn(200_000, 3, generator=generator, dtype=torch.double)
    noise = torch.randn(30, 20, 3, generator=generator, dtype=torch.double)
    f = torch.tensor(location, dtype=torch.double).expand(30, 1, 3).clone().requires_grad_()
    mean = ((f + torch.tensor(scale, dtype=torch.double) * noise) / 0.6).softmax(-1)[..., 0].mean(1)
    (gradient,) = torch.autograd.grad(mean.log().sum(), f)
    assert found["gradient_variance"] == pytest.approx(float(gradient[:, 0].var(0).sum()))


def test_temperature_trades_bias_for_variance() -> None:
    found = [softmax_approximation(0, temperature=t, samples=10) for t in (0.05, 0.2, 1.0, 5.0)]
    biases, variances = ([each[name] for each in found] for name in ("bias", "gradient_variance"))
    assert biases == sorted(biases)
    assert variances == sorted(variances, reverse=True)
