from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from truelabel.losses import CrossEntropy, cross_entropy
from truelabel.types import Batch, Categorical, Likelihood, Prediction

UNITS = [(7,), (3, 4, 5), (2, 3, 3, 2)]


def torch_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """What torch says, which wants the class axis second."""
    target = labels.movedim(-1, 1) if labels.is_floating_point() else labels
    return functional.cross_entropy(logits.movedim(-1, 1), target, reduction="none")


@pytest.mark.parametrize("units", UNITS)
def test_hard_labels_as_in_torch(units: tuple[int, ...]) -> None:
    logits, labels = 3 * torch.randn(*units, 4), torch.randint(4, units)
    torch.testing.assert_close(cross_entropy(logits, labels), torch_cross_entropy(logits, labels))


@pytest.mark.parametrize("units", UNITS)
def test_soft_targets_as_in_torch(units: tuple[int, ...]) -> None:
    logits, soft = 3 * torch.randn(*units, 4), torch.rand(*units, 4)
    torch.testing.assert_close(cross_entropy(logits, soft), torch_cross_entropy(logits, soft))


@pytest.mark.parametrize("units", UNITS)
def test_gradient_as_in_torch(units: tuple[int, ...]) -> None:
    logits, labels = torch.randn(*units, 4, requires_grad=True), torch.randint(4, units)
    (ours,) = torch.autograd.grad(cross_entropy(logits, labels).sum(), logits)
    (theirs,) = torch.autograd.grad(torch_cross_entropy(logits, labels).sum(), logits)
    torch.testing.assert_close(ours, theirs)


def test_a_missing_label_costs_nothing_as_in_torch() -> None:
    logits, labels = torch.randn(50, 4, requires_grad=True), torch.randint(-1, 4, (50,))
    values = cross_entropy(logits, labels)
    expected = functional.cross_entropy(logits, labels, ignore_index=-1, reduction="none")
    torch.testing.assert_close(values, expected)
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    assert torch.equal(gradient.any(-1), labels >= 0)
    assert not (labels >= 0).all()


def test_extreme_logits() -> None:
    logits = torch.tensor([[1e4, -1e4, 0.0]] * 3, requires_grad=True)
    values = cross_entropy(logits, torch.tensor([0, 1, 2]))
    assert values.tolist() == [0.0, 2e4, 1e4]
    (gradient,) = torch.autograd.grad(values.sum(), logits)
    assert gradient.tolist() == [[0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [1.0, 0.0, -1.0]]
    soft = cross_entropy(logits.detach(), torch.tensor([[0.5, 0.25, 0.25]] * 3))
    assert soft.tolist() == [7500.0] * 3


def test_uniform_beliefs_cost_the_logarithm_of_the_classes() -> None:
    values = cross_entropy(torch.full((2, 5), 3.0), torch.tensor([4, 0]))
    torch.testing.assert_close(values, torch.full((2,), math.log(5)))


def test_soft_targets_need_not_sum_to_one() -> None:
    logits = torch.randn(3, 4)
    soft = torch.rand(3, 4)
    torch.testing.assert_close(cross_entropy(logits, 3 * soft), 3 * cross_entropy(logits, soft))


def a_batch(labels: Tensor, soft: Tensor | None = None) -> Batch:
    n, s = labels.shape
    return Batch(
        torch.zeros(n, 1), labels, torch.zeros(n, s, dtype=torch.long), torch.ones(n, s), soft, torch.arange(n)
    )


def test_every_slot_pays_for_what_its_own_annotator_said() -> None:
    log_probs = torch.randn(5, 2, 3).log_softmax(-1)
    labels = torch.tensor([[0, 1], [2, 2], [1, 0], [0, 0], [1, 2]])
    prediction = Prediction(log_probs[:, 0], Categorical(log_probs), torch.zeros(()))
    expected = [[-log_probs[n, s, labels[n, s]].item() for s in range(2)] for n in range(5)]
    torch.testing.assert_close(CrossEntropy()(prediction, a_batch(labels)), torch.tensor(expected))


class Fused(Likelihood):
    """A likelihood that is cheap for a known label and refuses to be spelled out."""

    normalised = False

    def all(self) -> Tensor:
        raise AssertionError("the likelihood of every class was asked for")

    def at(self, labels: Tensor) -> Tensor:
        return labels + 0.5


def test_hard_labels_never_spell_out_the_likelihood() -> None:
    labels = torch.tensor([[0, 2], [1, -1]])
    prediction = Prediction(torch.zeros(2, 3), Fused(), torch.zeros(()))
    assert CrossEntropy()(prediction, a_batch(labels)).tolist() == [[-0.5, -2.5], [-1.5, 0.5]]


def test_soft_targets_win_over_hard_labels() -> None:
    log_probs = torch.randn(2, 1, 3).log_softmax(-1)
    prediction = Prediction(log_probs[:, 0], Categorical(log_probs), torch.zeros(()))
    soft = torch.tensor([[[0.0, 1.0, 0.0]], [[0.5, 0.0, 0.5]]])
    values = CrossEntropy()(prediction, a_batch(torch.zeros(2, 1, dtype=torch.long), soft))
    expected = [[-log_probs[0, 0, 1].item()], [-(log_probs[1, 0, 0] + log_probs[1, 0, 2]).item() / 2]]
    torch.testing.assert_close(values, torch.tensor(expected))
