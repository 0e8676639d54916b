from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy, cross_entropy
from truelabel.networks import MLP
from truelabel.noise import NoNoise
from truelabel.transforms import Mixup
from truelabel.types import Batch

N, SLOTS, CLASSES = 12, 2, 4


def a_batch(space: tuple[int, ...] = (), *, soft: bool = False) -> Batch:
    """Examples whose inputs are told apart by their index, with labels some of which are missing."""
    labels = torch.randint(-1, CLASSES, (N, *space, SLOTS))
    annotators = torch.randint(9, (N, SLOTS))
    targets = torch.rand(N, *space, SLOTS, CLASSES, dtype=torch.double) if soft else None
    inputs = 10.0 ** torch.arange(3.0, dtype=torch.double) * torch.arange(N)[:, None]
    inputs = inputs.view(N, 3, *[1] * len(space)).expand(N, 3, *space).contiguous()
    return Batch(inputs, labels, annotators, 0.5 + torch.rand(N, SLOTS).double(), targets, torch.arange(N))


def mixed_by(seed: int, batch: Batch) -> Batch:
    torch.manual_seed(seed)
    return Mixup()(batch)


def share_and_partner(batch: Batch, mixed: Batch) -> tuple[float, list[int]]:
    """The share, from weights; then each example's partner, from its input."""
    share = (mixed.weights[:, :SLOTS] / batch.weights)[0, 0].item()
    first = mixed.inputs.flatten(1)[:, 0]
    partner = (first - share * torch.arange(N)) / (1 - share)
    return share, partner.round().long().tolist()


@pytest.mark.parametrize("space", [(), (4, 5)])
def test_inputs_are_mixed_and_slots_joined(space: tuple[int, ...]) -> None:
    batch = a_batch(space, soft=True)
    mixed = mixed_by(0, batch)
    m, partner = share_and_partner(batch, mixed)
    assert 0 < m < 1
    assert sorted(partner) == list(range(N)), "a permutation"
    assert partner != list(range(N))
    assert batch.soft is not None
    assert mixed.soft is not None
    for i, j in enumerate(partner):
        torch.testing.assert_close(mixed.inputs[i], m * batch.inputs[i] + (1 - m) * batch.inputs[j])
        assert mixed.labels[i].tolist() == torch.cat([batch.labels[i], batch.labels[j]], -1).tolist()
        assert mixed.annotators[i].tolist() == batch.annotators[i].tolist() + batch.annotators[j].tolist()
        expected = [m * w for w in batch.weights[i].tolist()] + [(1 - m) * w for w in batch.weights[j].tolist()]
        assert mixed.weights[i].tolist() == pytest.approx(expected)
        assert torch.equal(mixed.soft[i], torch.cat([batch.soft[i], batch.soft[j]], -2))
    assert torch.equal(mixed.index, batch.index)
    assert Mixup()(a_batch(space)).soft is None


def test_seeds_are_reproducible_and_differ() -> None:
    batch = a_batch()
    torch.manual_seed(3)
    first, second = Mixup()(batch), Mixup()(batch)
    again = mixed_by(3, batch)
    assert torch.equal(first.inputs, again.inputs)
    assert torch.equal(first.weights, again.weights)
    assert share_and_partner(batch, first)[0] != share_and_partner(batch, second)[0]
    assert share_and_partner(batch, first)[1] != share_and_partner(batch, second)[1]


@pytest.mark.parametrize("alpha", [0.2, 1.0, 8.0])
def test_the_share_follows_a_beta_distribution(alpha: float) -> None:
    one = Batch(
        torch.ones(1, 1), torch.zeros(1, 1).long(), torch.zeros(1, 1).long(), torch.ones(1, 1), None, torch.arange(1)
    )
    shares = np.array([Mixup(alpha)(one).weights[0, 0].item() for _ in range(4000)])
    variance = 1 / (4 * (2 * alpha + 1))
    assert abs(shares.mean() - 0.5) < 4 * math.sqrt(variance / 4000)
    assert shares.var() == pytest.approx(variance, rel=0.06)
    # Symmetric, and an eighth moment tells a Beta from other laws of that variance.
    moment = math.prod((alpha + k) / (2 * alpha + k) for k in range(8))
    assert np.mean(shares**8) == pytest.approx(moment, rel=0.08, abs=0.004)


def test_the_loss_is_cross_entropy_on_the_mixed_target() -> None:
    labels = torch.randint(CLASSES, (N, 1))
    batch = Batch(
        torch.randn(N, 3), labels, torch.zeros(N, 1, dtype=torch.long), torch.ones(N, 1), None, torch.arange(N)
    )
    mixed = mixed_by(1, batch)
    learner = Classifier(MLP(3, width=8), NoNoise(8, CLASSES), CrossEntropy())
    losses = learner(mixed).losses
    one_hot = torch.eye(CLASSES)
    share = mixed.weights[0, 0]
    targets = share * one_hot[mixed.labels[:, 0]] + (1 - share) * one_hot[mixed.labels[:, 1]]
    logits = learner.predict(mixed.inputs).clean
    torch.testing.assert_close(losses, cross_entropy(logits, targets))
    assert (targets.amax(-1) < 1).any()


def test_a_missing_label_takes_its_share_along() -> None:
    labels = torch.tensor([[0], [-1]])
    batch = Batch(torch.eye(2), labels, labels, torch.ones(2, 1), None, torch.arange(2))
    seed = next(s for s in range(99) if swapped(mixed_by(s, batch)))
    mixed = mixed_by(seed, batch)
    share = mixed.weights[0, 0].item()
    learner = Classifier(MLP(2, width=8), NoNoise(8, 2), CrossEntropy())
    losses = learner(mixed).losses
    log_probs = learner.predict(mixed.inputs).clean
    expected = torch.stack([-share * log_probs[0, 0], -(1 - share) * log_probs[1, 0]])
    torch.testing.assert_close(losses, expected)


def swapped(mixed: Batch) -> bool:
    return mixed.labels.tolist() == [[0, -1], [-1, 0]]


def test_precision_is_kept() -> None:
    for kind in (torch.float, torch.double):
        batch = a_batch()
        mixed = Mixup()(batch._replace(inputs=batch.inputs.to(kind), weights=batch.weights.float()))
        assert (mixed.inputs.dtype, mixed.weights.dtype) == (kind, torch.float)


@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan])
def test_alpha_checks_itself(alpha: float) -> None:
    with pytest.raises(ValueError, match=f"^alpha must be positive, got {alpha!r}$"):
        Mixup(alpha)


def test_inputs_stay_between_those_of_the_pair() -> None:
    batch = a_batch()
    mixed = Mixup(0.5)(batch)
    _, partner = share_and_partner(batch, mixed)
    pair: Tensor = torch.stack([batch.inputs, batch.inputs[partner]])
    assert (mixed.inputs >= pair.amin(0) - 1e-9).all()
    assert (mixed.inputs <= pair.amax(0) + 1e-9).all()
