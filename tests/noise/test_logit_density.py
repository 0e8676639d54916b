from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from truelabel.noise.logit_density import DiagonalScale, LogitDensity, RankOneScale

CLASSES = 5


def minimise(parameter: Tensor, loss: Callable[[], Tensor]) -> None:
    optimiser = torch.optim.LBFGS(
        [parameter], max_iter=500, tolerance_grad=1e-12, tolerance_change=1e-15, line_search_fn="strong_wolfe"
    )

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss()
        value.backward()
        return value

    optimiser.step(closure)


def attenuated(residual: Tensor, floor: float) -> tuple[Tensor, LogitDensity]:
    """The c that is best for a residual ``(1, D)`` of label 0, found numerically, and the density with it."""
    target = 7.0
    mean = target * functional.one_hot(torch.tensor([0]), residual.shape[-1]).double() - residual
    mean = mean.unsqueeze(-2).requires_grad_()
    c = torch.randn_like(mean).requires_grad_()
    label = torch.zeros(1, 1, dtype=torch.long)
    minimise(c, lambda: -LogitDensity(mean, RankOneScale(c, floor), target, dummy=True).at(label).sum())
    best = c.detach()
    return best[0, 0], LogitDensity(mean, RankOneScale(best, floor), target, dummy=True)


@pytest.mark.parametrize("norm", [3.0, 9.89])
def test_the_best_covariance_attenuates_a_large_residual(norm: float) -> None:
    floor, size = 0.5, 4
    residual = functional.normalize(torch.randn(1, size, dtype=torch.double), dim=-1) * norm
    c, density = attenuated(residual, floor)
    assert c.square().sum().item() == pytest.approx(norm - floor, abs=1e-6)  # 2.5 for a residual of 3
    assert functional.cosine_similarity(c, residual[0], dim=0).abs().item() == pytest.approx(1)
    # Eq. 7: along the residual, the covariance is that of r rᵀ, whose eigenvalue is ‖r‖².
    scale = torch.outer(c, c) + floor * torch.eye(size, dtype=torch.double)
    torch.testing.assert_close(scale @ scale @ residual[0], norm**2 * residual[0], rtol=1e-6, atol=1e-6)
    # Eq. 8: the residual counts divided by its squared norm.
    loss = -density.at(torch.zeros(1, 1, dtype=torch.long))
    (gradient,) = torch.autograd.grad(loss.sum(), density.mean)
    torch.testing.assert_close(gradient[0], -residual / norm**2, rtol=1e-5, atol=1e-6)
    expected = 0.5 + math.log(norm) + (size - 1) * math.log(floor) + size / 2 * math.log(2 * math.pi)
    assert loss.item() == pytest.approx(expected)


def test_a_small_residual_is_squared_error() -> None:
    # App. A.4: below the floor the best c is zero.
    residual = torch.tensor([[0.2, -0.1, 0.2]], dtype=torch.double)
    c, density = attenuated(residual, 0.5)
    assert c.norm().item() == pytest.approx(0, abs=1e-5)
    loss = -density.at(torch.zeros(1, 1, dtype=torch.long))
    assert loss.item() == pytest.approx(0.5 * 0.09 / 0.25 + 3 * math.log(0.5) + 1.5 * math.log(2 * math.pi))


def test_the_gradient_for_c_with_two_classes() -> None:
    # Eq. 23, with the factor 1/2 that the paper loses; it vanishes at c = 0.
    floor, target, mean = 0.5, 5.3, torch.full((9, 1, 1), 2.0, dtype=torch.double)
    c = torch.linspace(-2, 2, 9, dtype=torch.double).view(9, 1, 1).requires_grad_()
    labels = torch.tensor([[0]] * 4 + [[1]] * 5)
    residual = target * (1 - 2 * labels.double()) - mean.squeeze(-1)
    loss = -LogitDensity(mean, RankOneScale(c, floor), target, dummy=False).at(labels).sum()
    (gradient,) = torch.autograd.grad(loss, c)
    value = c.detach().squeeze(-1)
    variance = (value.square() + floor).square()
    expected = (variance - residual.square()) * (4 * value**3 + 4 * floor * value) / (2 * variance.square())
    torch.testing.assert_close(gradient.squeeze(-1), expected)
    assert gradient[4] == 0


@pytest.mark.parametrize("slots", [1, 2])
@pytest.mark.parametrize("dummy", [True, False])
def test_gradcheck(dummy: bool, slots: int) -> None:
    labels = torch.arange(CLASSES).unsqueeze(-1).repeat(1, slots)
    shape = (CLASSES, 1, CLASSES if dummy else CLASSES - 1)
    mean, spread = (torch.randn(shape, dtype=torch.double, requires_grad=True) for _ in range(2))

    def full(mean: Tensor, spread: Tensor) -> Tensor:
        return LogitDensity(mean, RankOneScale(spread, 0.5), 7.0, dummy).at(labels)

    def diagonal(mean: Tensor, spread: Tensor) -> Tensor:
        return LogitDensity(mean, DiagonalScale(functional.softplus(spread) + 0.5), 7.0, dummy).at(labels)

    assert torch.autograd.gradcheck(full, (mean, spread))
    assert torch.autograd.gradcheck(diagonal, (mean, spread))


@pytest.mark.parametrize("floor", [0.1, 0.5])
@pytest.mark.parametrize("distance", [0.01, 10.0, 1e3])
@pytest.mark.parametrize("slots", [1, 2])
def test_single_precision_is_enough(floor: float, distance: float, slots: int) -> None:
    # The hard case is the one that training aims at: c along the residual, of the best length, almost. What is along c
    # is then divided by ‖r‖, and what is not, rounding errors included, by the floor.
    units, size, target = 500, 10, 7.0
    label = torch.randint(size, (units, 1))
    direction = functional.normalize(torch.randn(units, size), dim=-1)
    mean = target * functional.one_hot(label[:, 0], size) - distance * direction + 0.01 * torch.randn(units, size)
    c = direction * math.sqrt(max(distance - floor, 1.0))

    def value_and_gradient(kind: torch.dtype) -> tuple[Tensor, Tensor]:
        own = mean.to(kind).unsqueeze(-2).requires_grad_()
        density = LogitDensity(own, RankOneScale(c.to(kind).unsqueeze(-2), floor), target, dummy=True)
        values = density.at(label.expand(-1, slots))
        return values.detach().double(), torch.autograd.grad(values.sum(), own)[0].double().squeeze(-2)

    (single, pull), (double, expected) = value_and_gradient(torch.float), value_and_gradient(torch.double)
    assert ((single - double).abs() / double.abs().clamp_min(1)).max() < 3e-3
    assert ((pull - expected).norm(dim=-1) / expected.norm(dim=-1)).median() < 3e-3
