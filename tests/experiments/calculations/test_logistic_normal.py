from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize

from truelabel.experiments.calculations.logistic_normal import attenuated_loss, simplex_equivalence


@pytest.mark.parametrize("scale", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("residual", [0.05, 0.5, 3.0])
def test_no_variance_does_better(scale: float, residual: float) -> None:
    def loss(c: float) -> float:
        sigma = c**2 + scale
        return float(residual**2 / (2 * sigma**2) + np.log(sigma))

    best = min(optimize.minimize_scalar(loss, bounds=(0, 5), method="bounded").fun, loss(0.0))
    assert attenuated_loss(0, scale=scale, residual=residual)["loss"] == pytest.approx(best, abs=1e-6)


def test_a_large_residual_costs_no_more_than_one() -> None:
    assert [attenuated_loss(0, scale=0.5, residual=r)["label_term"] for r in (0.5, 1.0, 100.0)] == [1.0, 1.0, 1.0]
    assert attenuated_loss(0, scale=1.0, residual=0.5)["label_term"] == 0.25


@pytest.mark.parametrize("covariance", [(1.0, 1.0, 0.0), (1.5, 0.5, 0.4)])
def test_logits_and_simplex_are_one_distribution(covariance: tuple[float, float, float]) -> None:
    areas = simplex_equivalence(1, mean=(1.0, -0.5), covariance=covariance)
    assert areas["area_by_draws"] == pytest.approx(areas["area_by_grid"], rel=0.02)
    assert 0.05 < areas["area_by_grid"] < 0.5
