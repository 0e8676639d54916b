from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.integrate import quad
from torch import Tensor

from truelabel.losses import BiTempered, bi_tempered, cross_entropy, tempered_softmax

Vector = NDArray[np.float64]
TEMPERATURES = [0.5, 1.0, 1.1, 2.0, 4.0]


def exp_t(u: Vector, t: float) -> Vector:
    if t == 1:
        return np.exp(u)
    base = np.maximum(1 + (1 - t) * u, 0)
    with np.errstate(divide="ignore"):
        return np.asarray(base ** (1 / (1 - t)))


def by_bisection(activations: Vector, t: float) -> Vector:
    """Probabilities of one row, from the definition: find the shift at which they sum to one."""
    # One class takes all at the one end; all are equal at the other.
    low = 0.0
    high = math.log(len(activations)) if t == 1 else (len(activations) ** (t - 1) - 1) / (t - 1)
    below = activations - activations.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if exp_t(below - middle, t).sum() > 1 else (low, middle)
    return exp_t(below - (low + high) / 2, t)


def bregman(probs: Vector, target: Vector, t: float) -> float:
    """The divergence of log_t as an integral: both logarithms are integrals of x^-t, joined and swapped to one."""
    total = 0.0
    for y, p in zip(target.tolist(), probs.tolist(), strict=True):
        total += quad(lambda x, y=y: (y - x) * x**-t, p, y, epsabs=1e-12, epsrel=1e-12)[0]
    return total


def reference(logits: Vector, target: Vector, t1: float, t2: float) -> float:
    return bregman(by_bisection(logits, t2), target, t1)


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("classes", [2, 10, 100])
@pytest.mark.parametrize("spread", [0.0, 5.0, 20.0, 1e4])
def test_the_softmax_as_by_bisection(t: float, classes: int, spread: float) -> None:
    activations = spread * torch.randn(8, classes, dtype=torch.double)
    probs = tempered_softmax(activations, t)
    expected = np.stack([by_bisection(row, t) for row in activations.numpy()])
    assert np.abs(expected.sum(-1) - 1).max() < 1e-10, "the reference itself"
    np.testing.assert_allclose(probs.numpy(), expected, atol=1e-10, rtol=0)
    torch.testing.assert_close(probs.sum(-1), torch.ones(8, dtype=torch.double), atol=1e-12, rtol=0)


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("spread", [0.0, 5.0, 20.0, 1e4])
def test_single_precision_loses_little(t: float, spread: float) -> None:
    activations = spread * torch.randn(50, 10)
    probs = tempered_softmax(activations, t)
    assert probs.dtype == torch.float
    torch.testing.assert_close(probs.double(), tempered_softmax(activations.double(), t), atol=2e-6, rtol=0)


@pytest.mark.parametrize("t", TEMPERATURES)
def test_a_constant_does_not_matter(t: float) -> None:
    activations = 5 * torch.randn(3, 4, 6, dtype=torch.double)
    probs = tempered_softmax(activations, t)
    torch.testing.assert_close(tempered_softmax(activations + 37.5, t), probs)
    torch.testing.assert_close(tempered_softmax(activations.log_softmax(-1), t), probs)
    alone = torch.stack([tempered_softmax(row, t) for row in activations.view(-1, 6)]).view_as(probs)
    torch.testing.assert_close(alone, probs)


def test_one_is_softmax_and_two_classes_at_two_are_a_quadratic() -> None:
    activations = torch.tensor([[0.0, 4.0], [1.0, 1.0]], dtype=torch.double)
    torch.testing.assert_close(tempered_softmax(activations, 1.0), activations.softmax(-1))
    # 1/(1+s) + 1/(5+s) = 1 has s = sqrt(5) - 2.
    high = 1 / (math.sqrt(5) - 1)
    expected = torch.tensor([[1 - high, high], [0.5, 0.5]], dtype=torch.double)
    torch.testing.assert_close(tempered_softmax(activations, 2.0), expected)


def test_heavy_tails_and_a_finite_support() -> None:
    activations = torch.tensor([0.0, 10.0, 30.0], dtype=torch.double)
    light, plain, heavy = (tempered_softmax(activations, t) for t in (0.5, 1.0, 2.0))
    assert light.tolist() == [0.0, 0.0, 1.0]
    assert heavy[0] > 0.02 > 1e-12 > plain[0]


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("classes", [2, 5])
def test_the_gradient_of_the_softmax_as_by_finite_differences(t: float, classes: int) -> None:
    row = np.random.default_rng(0).normal(size=classes)
    step, weights = 1e-5, np.arange(1.0, classes + 1)
    expected = []
    for k in range(classes):
        move = step * np.eye(classes)[k]
        expected.append(weights @ (by_bisection(row + move, t) - by_bisection(row - move, t)) / (2 * step))
    activations = torch.from_numpy(row).requires_grad_()
    (gradient,) = torch.autograd.grad(torch.from_numpy(weights) @ tempered_softmax(activations, t), activations)
    np.testing.assert_allclose(gradient.numpy(), expected, atol=1e-8)
    assert torch.autograd.gradcheck(
        lambda a: tempered_softmax(a, t), torch.randn(3, classes, dtype=torch.double).requires_grad_()
    )


@pytest.mark.parametrize("t", TEMPERATURES)
@pytest.mark.parametrize("spread", [0.0, 1e4])
def test_the_gradient_of_the_softmax_stays_finite(t: float, spread: float) -> None:
    activations = (spread * torch.randn(20, 10)).requires_grad_()
    (gradient,) = torch.autograd.grad((torch.rand(10) * tempered_softmax(activations, t)).sum(), activations)
    assert gradient.isfinite().all()
    torch.testing.assert_close(gradient.sum(-1), torch.zeros(20), atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("t1", "t2"), [(0.0, 1.0), (0.5, 0.5), (0.3, 0.8), (0.7, 2.0), (0.9, 4.0), (1.0, 1.1), (1.5, 2.0)]
)
def test_the_loss_as_by_integration(t1: float, t2: float) -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(6, 4))
    labels, soft = rng.integers(0, 4, 6), rng.dirichlet(np.ones(4), 6)
    expected = [reference(row, np.eye(4)[label], t1, t2) for row, label in zip(logits, labels, strict=True)]
    values = bi_tempered(torch.from_numpy(logits), torch.from_numpy(labels), t1, t2)
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-7)
    expected = [reference(row, target, t1, t2) for row, target in zip(logits, soft, strict=True)]
    values = bi_tempered(torch.from_numpy(logits), torch.from_numpy(soft), t1, t2)
    np.testing.assert_allclose(values.numpy(), expected, rtol=1e-7, atol=1e-12)


@pytest.mark.parametrize(("t1", "t2"), [(0.7, 2.0), (0.5, 1.1), (1.0, 4.0), (0.3, 0.8)])
def test_the_gradient_of_the_loss(t1: float, t2: float) -> None:
    logits, labels = torch.randn(5, 4, dtype=torch.double, requires_grad=True), torch.tensor([0, 1, 2, 3, 0])
    (gradient,) = torch.autograd.grad(bi_tempered(logits, labels, t1, t2).sum(), logits)
    # With d = (y - e) y^(t2 - t1), it is d - sum(d) y^t2 / sum(y^t2) (section 6.1 of the details).
    for n, row in enumerate(logits.detach().numpy()):
        probs = by_bisection(row, t2)
        pull = (probs - np.eye(4)[labels[n]]) * probs ** (t2 - t1)
        closed = pull - pull.sum() * probs**t2 / (probs**t2).sum()
        np.testing.assert_allclose(gradient[n].numpy(), closed, atol=1e-10)
    soft = torch.rand(5, 4, dtype=torch.double).softmax(-1)
    for given in (labels, soft):
        assert torch.autograd.gradcheck(lambda a, given=given: bi_tempered(a, given, t1, t2), logits)


def test_temperatures_of_one_are_cross_entropy() -> None:
    logits = (3 * torch.randn(30, 5, dtype=torch.double)).requires_grad_()
    labels = torch.randint(-1, 5, (30,))
    ours, theirs = bi_tempered(logits, labels, 1.0, 1.0), cross_entropy(logits, labels)
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad(values.sum(), logits)[0] for values in (ours, theirs)]
    torch.testing.assert_close(*gradients)
    # A soft target keeps its own entropy, which no prediction can lower.
    soft = torch.rand(30, 5, dtype=torch.double).softmax(-1)
    expected = cross_entropy(logits, soft) + (soft * soft.log()).sum(-1)
    torch.testing.assert_close(bi_tempered(logits, soft, 1.0, 1.0), expected)


@pytest.mark.parametrize("kind", [torch.float, torch.double])
@pytest.mark.parametrize("t1", [0.0, 0.5, 0.7])
@pytest.mark.parametrize("t2", [1.0, 2.0, 4.0])
def test_the_loss_is_bounded(t1: float, t2: float, kind: torch.dtype) -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]] * 3, dtype=kind, requires_grad=True)
    values = bi_tempered(logits, torch.tensor([0, 1, 2]), t1, t2)
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    bound = 1 / (1 - t1)
    assert values[0] < 0.1 * bound
    assert (values[1:] > 0.6 * bound).all()
    assert (values <= bound * (1 + 1e-6)).all()
    assert gradient.isfinite().all()
    if t2 == 1:
        torch.testing.assert_close(values[1:].detach(), torch.full((2,), bound, dtype=kind), rtol=1e-6, atol=0)


def test_a_perfect_answer_costs_nothing() -> None:
    # Light tails give exactly one class everything.
    values = bi_tempered(torch.tensor([[50.0, 0.0, 0.0]], dtype=torch.double), torch.tensor([0]), 0.3, 0.5)
    assert values.tolist() == [0.0]
    soft = torch.tensor([[0.2, 0.5, 0.3]], dtype=torch.double)
    # The activations that give a distribution are its tempered logarithms.
    activations = (soft**-1 - 1) / -1
    torch.testing.assert_close(tempered_softmax(activations, 2.0), soft)
    torch.testing.assert_close(bi_tempered(activations, soft, 0.7, 2.0), torch.zeros(1, dtype=torch.double))


def test_a_missing_label_costs_nothing() -> None:
    logits = torch.randn(2, 3, requires_grad=True)
    values = bi_tempered(logits, torch.tensor([-1, 2]))
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    assert (values[0].item(), gradient[0].any().item()) == (0.0, False)
    assert gradient[1].all()


@pytest.mark.parametrize(
    ("t1", "t2", "message"),
    [
        (0.7, 0.0, "^t2 must be positive, got 0.0$"),
        (0.7, math.nan, "^t2 must be positive, got nan$"),
        (-0.1, 2.0, r"^t1 must lie in \[0, 2\), got -0.1$"),
        (2.0, 4.0, r"^t1 must lie in \[0, 2\), got 2.0$"),
        (math.nan, 4.0, r"^t1 must lie in \[0, 2\), got nan$"),
        (1.5, 1.1, "^t1 must not exceed t2, or its gradient is unbounded; got 1.5 and 1.1$"),
    ],
)
def test_temperatures_check_themselves(t1: float, t2: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        BiTempered(t1, t2)


@pytest.mark.parametrize("temperature", [0.0, -1.0])
def test_the_temperature_of_the_softmax_checks_itself(temperature: float) -> None:
    with pytest.raises(ValueError, match=f"^temperature must be positive, got {temperature}$"):
        tempered_softmax(torch.zeros(2), temperature)


def test_shapes_and_units() -> None:
    logits, labels = torch.randn(3, 4, 5, 6, dtype=torch.double), torch.randint(6, (3, 4, 5))
    together = bi_tempered(logits, labels)
    apart = torch.stack([bi_tempered(row[None], label[None])[0] for row, label in flat(logits, labels)])
    assert together.shape == (3, 4, 5)
    torch.testing.assert_close(together.flatten(), apart)


def flat(logits: Tensor, labels: Tensor) -> list[tuple[Tensor, Tensor]]:
    return list(zip(logits.flatten(0, -2), labels.flatten(), strict=True))
