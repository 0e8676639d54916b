from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from truelabel.losses import Reweight, cross_entropy, reweight
from truelabel.types import Batch, Categorical, Prediction, mix

UNITS = [(7,), (3, 4, 5)]
T = torch.tensor([[0.7, 0.3, 0.0], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]], dtype=torch.double)


def by_loop(logits: Tensor, targets: Tensor) -> Tensor:
    """The sum over classes of target times p_k / (p T)_k times -log p_k, one number at a time."""
    values, rows = [], T.tolist()
    for row, target in zip(logits.flatten(0, -2).tolist(), targets.flatten(0, -2).tolist(), strict=True):
        total = sum(math.exp(a) for a in row)
        clean = [math.exp(a) / total for a in row]
        noisy = [sum(clean[i] * rows[i][j] for i in range(3)) for j in range(3)]
        values.append(-sum(target[k] * clean[k] / noisy[k] * math.log(clean[k]) for k in range(3)))
    return torch.tensor(values, dtype=torch.double).view(logits.shape[:-1])


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("attached", [False, True])
def test_hard_and_soft_targets_by_loop(units: tuple[int, ...], attached: bool) -> None:
    logits, labels = 2 * torch.randn(*units, 3, dtype=torch.double), torch.randint(3, units)
    one_hot, soft = torch.eye(3, dtype=torch.double)[labels], torch.rand(*units, 3, dtype=torch.double)
    for given, target in ((labels, one_hot), (soft, soft)):
        torch.testing.assert_close(reweight(logits, given, T, attached=attached), by_loop(logits, target))


@pytest.mark.parametrize("transition", [None, torch.eye(4, dtype=torch.double)])
@pytest.mark.parametrize("attached", [False, True])
def test_true_labels_give_cross_entropy(transition: Tensor | None, attached: bool) -> None:
    logits = (3 * torch.randn(30, 4, dtype=torch.double)).requires_grad_()
    labels = torch.randint(-1, 4, (30,))
    ours, theirs = reweight(logits, labels, transition, attached=attached), cross_entropy(logits, labels)
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad(values.sum(), logits)[0] for values in (ours, theirs)]
    torch.testing.assert_close(*gradients)


def test_a_detached_weight_is_a_constant() -> None:
    logits, labels = torch.randn(20, 3, dtype=torch.double, requires_grad=True), torch.randint(3, (20,))
    (gradient,) = torch.autograd.grad(reweight(logits, labels, T).sum(), logits)
    clean, rows = logits.detach().softmax(-1), torch.arange(20)
    weight = clean[rows, labels] / (clean @ T)[rows, labels]
    torch.testing.assert_close(gradient, weight[:, None] * (clean - torch.eye(3, dtype=torch.double)[labels]))


def test_an_attached_weight_takes_part_in_the_gradient() -> None:
    logits, labels = torch.randn(20, 3, dtype=torch.double, requires_grad=True), torch.randint(3, (20,))

    def attached(given: Tensor) -> Tensor:
        return reweight(given, labels, T, attached=True)

    assert torch.autograd.gradcheck(attached, logits)
    (with_weight,) = torch.autograd.grad(attached(logits).sum(), logits)
    (without,) = torch.autograd.grad(reweight(logits, labels, T).sum(), logits)
    assert (with_weight - without).abs().max() > 0.1


@pytest.mark.parametrize("attached", [False, True])
def test_the_transition_learns_through_the_weight_only(attached: bool) -> None:
    clean, labels = torch.randn(8, 3, dtype=torch.double).log_softmax(-1), torch.randint(3, (8, 1))
    logits, transition = clean.clone().requires_grad_(), T.clamp_min(0.05).requires_grad_()
    prediction = Prediction(
        logits.log_softmax(-1), Categorical(mix(logits.log_softmax(-1), transition).unsqueeze(-2)), clean.new_zeros(())
    )
    nobody = torch.zeros_like(labels)
    batch = Batch(clean, labels, nobody, torch.ones(8, 1), None, torch.arange(8))
    total = Reweight(attached)(prediction, batch).sum()
    if not attached:
        total.backward()
        assert transition.grad is None
        assert logits.grad is not None
        return
    (gradient,) = torch.autograd.grad(total, transition)
    probs, mixed = clean.exp(), clean.exp() @ transition.detach()
    expected = torch.zeros(3, 3, dtype=torch.double)
    for n, k in enumerate(labels[:, 0].tolist()):
        # d/dT[i, k] of -p_k log p_k / (p T)_k is p_i p_k log p_k / (p T)_k^2.
        expected[:, k] += probs[n] * probs[n, k] * clean[n, k] / mixed[n, k] ** 2
    torch.testing.assert_close(gradient, expected)


@pytest.mark.parametrize("attached", [False, True])
@pytest.mark.parametrize("kind", [torch.float, torch.double])
def test_extreme_logits(attached: bool, kind: torch.dtype) -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]] * 3, dtype=kind, requires_grad=True)
    values = reweight(logits, torch.tensor([0, 1, 2]), T.to(kind), attached=attached)
    # An impossible label has no weight where the transition can explain it: p_1 / 0.3 = 0. What only class 2 itself
    # or the impossible class 1 can explain weighs 1 / 0.6. Logarithms of 1e4 leave float32 three digits for it.
    torch.testing.assert_close(values.detach(), torch.tensor([0.0, 0.0, 1e4 / 0.6], dtype=kind), rtol=1e-3, atol=0)
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    assert gradient.isfinite().all()
    assert gradient[2].any()


def test_a_label_that_nothing_explains_stays_finite() -> None:
    never = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
    logits = torch.randn(4, 2, requires_grad=True)
    values = reweight(logits, torch.ones(4, dtype=torch.long), never)
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    assert values.isfinite().all()
    assert gradient.isfinite().all()
