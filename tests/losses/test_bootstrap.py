from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from truelabel.losses import HardBootstrap, SoftBootstrap, cross_entropy, hard_bootstrap, soft_bootstrap

UNITS = [(7,), (3, 4, 5)]


def by_loop(logits: Tensor, targets: Tensor, beta: float, *, hard: bool) -> Tensor:
    """Cross entropy against beta times the target plus 1 - beta times what the network says itself."""
    values = []
    for row, target in zip(logits.flatten(0, -2).tolist(), targets.flatten(0, -2).tolist(), strict=True):
        total = sum(math.exp(a) for a in row)
        probs = [math.exp(a) / total for a in row]
        own = [float(k == probs.index(max(probs))) for k in range(len(probs))] if hard else probs
        mixed = [beta * t + (1 - beta) * o for t, o in zip(target, own, strict=True)]
        values.append(-sum(m * math.log(p) for m, p in zip(mixed, probs, strict=True)))
    return torch.tensor(values, dtype=torch.double).view(logits.shape[:-1])


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("beta", [0.0, 0.4, 0.95])
def test_hard_and_soft_targets_by_loop(units: tuple[int, ...], beta: float) -> None:
    logits, labels = 2 * torch.randn(*units, 4, dtype=torch.double), torch.randint(4, units)
    one_hot, soft = torch.eye(4, dtype=torch.double)[labels], torch.rand(*units, 4, dtype=torch.double)
    for given, target in ((labels, one_hot), (soft, soft)):
        torch.testing.assert_close(soft_bootstrap(logits, given, beta), by_loop(logits, target, beta, hard=False))
        torch.testing.assert_close(hard_bootstrap(logits, given, beta), by_loop(logits, target, beta, hard=True))


@pytest.mark.parametrize("bootstrap", [soft_bootstrap, hard_bootstrap])
def test_full_trust_is_cross_entropy(bootstrap: Callable[[Tensor, Tensor, float], Tensor]) -> None:
    logits, labels = torch.randn(20, 4, dtype=torch.double, requires_grad=True), torch.randint(-1, 4, (20,))
    ours, theirs = bootstrap(logits, labels, 1.0), cross_entropy(logits, labels)
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad(values.sum(), logits)[0] for values in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_soft_is_cross_entropy_and_the_entropy_of_the_prediction() -> None:
    logits, labels = 2 * torch.randn(20, 4, dtype=torch.double), torch.randint(4, (20,))
    entropy = torch.distributions.Categorical(logits=logits).entropy()
    expected = 0.9 * cross_entropy(logits, labels) + 0.1 * entropy
    torch.testing.assert_close(soft_bootstrap(logits, labels, 0.9), expected)


def test_the_target_takes_part_in_the_gradient_unless_it_is_detached() -> None:
    logits, labels = torch.randn(20, 4, dtype=torch.double, requires_grad=True), torch.randint(4, (20,))
    plain, detached = soft_bootstrap(logits, labels, 0.7), soft_bootstrap(logits, labels, 0.7, detach=True)
    torch.testing.assert_close(detached, plain)
    (with_target,) = torch.autograd.grad(plain.sum(), logits)
    (without,) = torch.autograd.grad(detached.sum(), logits)
    probs = logits.detach().softmax(-1)
    pull = probs - torch.eye(4, dtype=torch.double)[labels]
    # Cross entropy against a constant target equal to p has no gradient at p.
    torch.testing.assert_close(without, 0.7 * pull)
    entropy = -(probs * probs.log()).sum(-1, keepdim=True)
    torch.testing.assert_close(with_target, 0.7 * pull - 0.3 * probs * (probs.log() + entropy))
    assert torch.autograd.gradcheck(lambda given: soft_bootstrap(given, labels, 0.7), logits)


def test_the_class_predicted_is_picked_without_a_gradient_of_its_own() -> None:
    logits = torch.tensor([[2.0, 1.0, -1.0], [0.0, 0.5, 3.0]], dtype=torch.double, requires_grad=True)
    labels, predicted = torch.tensor([1, 1]), torch.tensor([0, 2])
    (gradient,) = torch.autograd.grad(hard_bootstrap(logits, labels, 0.6).sum(), logits)
    unit = torch.eye(3, dtype=torch.double)
    expected = logits.detach().softmax(-1) - 0.6 * unit[labels] - 0.4 * unit[predicted]
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("detach", [False, True])
def test_extreme_logits(detach: bool) -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]] * 3, requires_grad=True)
    labels = torch.tensor([0, 1, 2])
    for values in (soft_bootstrap(logits, labels, 0.5, detach=detach), hard_bootstrap(logits, labels, 0.5)):
        assert values.tolist() == [0.0, 1e4, 5e3]
        (gradient,) = torch.autograd.grad(values.sum(), logits)
        assert gradient.tolist() == [[0.0, 0.0, 0.0], [0.5, -0.5, 0.0], [0.5, 0.0, -0.5]]


def test_a_missing_label_costs_nothing_not_even_entropy() -> None:
    logits = torch.randn(2, 3, requires_grad=True)
    for values in (soft_bootstrap(logits, torch.tensor([-1, 2])), hard_bootstrap(logits, torch.tensor([-1, 2]))):
        (gradient,) = torch.autograd.grad(values.sum(), logits)
        assert (values[0].item(), gradient[0].any().item()) == (0.0, False)
        assert gradient[1].all()


def test_the_papers_trust_is_the_default() -> None:
    assert (SoftBootstrap().beta, HardBootstrap().beta) == (0.95, 0.8)
    logits, labels = torch.randn(5, 3), torch.randint(3, (5,))
    assert torch.equal(soft_bootstrap(logits, labels), soft_bootstrap(logits, labels, 0.95))
    assert torch.equal(hard_bootstrap(logits, labels), hard_bootstrap(logits, labels, 0.8))


@pytest.mark.parametrize("kind", [SoftBootstrap, HardBootstrap])
@pytest.mark.parametrize("beta", [-0.1, 1.1, math.nan])
def test_beta_checks_itself(kind: type[SoftBootstrap] | type[HardBootstrap], beta: float) -> None:
    with pytest.raises(ValueError, match=rf"^beta must lie in \[0, 1\], got {beta!r}$"):
        kind(beta)
