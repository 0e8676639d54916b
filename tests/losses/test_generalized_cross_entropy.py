from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from truelabel.losses import GeneralizedCrossEntropy, cross_entropy, generalized_cross_entropy

UNITS = [(7,), (3, 4, 5)]


def by_loop(logits: Tensor, targets: Tensor, q: float) -> Tensor:
    """The sum over classes of target times (1 - p^q) / q, one number at a time."""
    values = []
    for row, target in zip(logits.flatten(0, -2).tolist(), targets.flatten(0, -2).tolist(), strict=True):
        total = sum(math.exp(a) for a in row)
        probs = [math.exp(a) / total for a in row]
        values.append(sum(t * (1 - p**q) / q for t, p in zip(target, probs, strict=True)))
    return torch.tensor(values, dtype=torch.double).view(logits.shape[:-1])


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("q", [0.1, 0.7, 1.0])
def test_soft_and_hard_targets_by_loop(units: tuple[int, ...], q: float) -> None:
    logits, labels = 3 * torch.randn(*units, 4, dtype=torch.double), torch.randint(4, units)
    one_hot = torch.eye(4, dtype=torch.double)[labels]
    torch.testing.assert_close(generalized_cross_entropy(logits, labels, q), by_loop(logits, one_hot, q))
    soft = torch.rand(*units, 4, dtype=torch.double)
    torch.testing.assert_close(generalized_cross_entropy(logits, soft, q), by_loop(logits, soft, q))


def test_a_vanishing_q_is_cross_entropy() -> None:
    logits, labels = 3 * torch.randn(50, 4, dtype=torch.double), torch.randint(4, (50,))
    values = generalized_cross_entropy(logits, labels, q=1e-6)
    torch.testing.assert_close(values, cross_entropy(logits, labels), atol=1e-4, rtol=0)


def test_q_of_one_is_one_minus_the_probability() -> None:
    logits, labels = 3 * torch.randn(50, 4, dtype=torch.double), torch.randint(4, (50,))
    expected = 1 - logits.softmax(-1)[torch.arange(50), labels]
    torch.testing.assert_close(generalized_cross_entropy(logits, labels, q=1.0), expected)


@pytest.mark.parametrize("q", [0.3, 0.7, 1.0])
def test_the_gradient_is_that_of_cross_entropy_times_the_probability_to_q(q: float) -> None:
    logits = (2 * torch.randn(20, 4, dtype=torch.double)).requires_grad_()
    labels = torch.randint(4, (20,))
    (ours,) = torch.autograd.grad(generalized_cross_entropy(logits, labels, q).sum(), logits)
    probs = logits.detach().softmax(-1)
    said = probs[torch.arange(20), labels].unsqueeze(-1)
    torch.testing.assert_close(ours, said**q * (probs - torch.eye(4, dtype=torch.double)[labels]))


@pytest.mark.parametrize("kind", [torch.float, torch.double])
@pytest.mark.parametrize("q", [0.1, 0.7, 1.0])
def test_extreme_logits_reach_the_bound_and_have_a_gradient(q: float, kind: torch.dtype) -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]] * 3, dtype=kind, requires_grad=True)
    values = generalized_cross_entropy(logits, torch.tensor([0, 1, 2]), q)
    torch.testing.assert_close(values.detach(), torch.tensor([0.0, 1 / q, 1 / q], dtype=kind))
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    # A label held for impossible no longer pulls: that is what makes the loss robust.
    assert torch.equal(gradient, torch.zeros_like(gradient))


def test_a_small_probability_is_not_lost_to_rounding() -> None:
    # p = e^-30 is nothing beside one in float32, but p^0.1 = e^-3 is a twentieth.
    values = generalized_cross_entropy(torch.tensor([[30.0, 0.0]]), torch.tensor([1]), q=0.1)
    assert values.item() == pytest.approx((1 - math.exp(-3)) / 0.1, rel=1e-6)
    # And q log p of 1e-9 is nothing beside one, but the loss is still the log odds.
    values = generalized_cross_entropy(torch.tensor([[0.0, 0.0]]), torch.tensor([1]), q=1e-9)
    assert values.item() == pytest.approx(math.log(2), rel=1e-6)


def test_a_missing_label_costs_nothing() -> None:
    logits = torch.randn(2, 3, requires_grad=True)
    values = generalized_cross_entropy(logits, torch.tensor([-1, 2]))
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    assert (values[0].item(), gradient[0].any().item()) == (0.0, False)
    assert gradient[1].all()


@pytest.mark.parametrize("q", [0.0, -0.1, 1.01, math.nan])
def test_q_checks_itself(q: float) -> None:
    with pytest.raises(ValueError, match=r"^q must lie in \(0, 1\], got .*: use cross entropy for q = 0$"):
        GeneralizedCrossEntropy(q)
