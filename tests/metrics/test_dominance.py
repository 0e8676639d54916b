from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel.corruption import cifar10_annotators, hammer_spammers, pairwise_flippers
from truelabel.metrics import undominated_classes

Array = NDArray[np.float64]


def slow(mean: Array) -> list[int]:
    k = len(mean)
    return [i for i in range(k) if any(mean[i, i] <= mean[j, i] for j in range(k) if j != i)]


def test_it_is_the_definition() -> None:
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(100):
        confusion = rng.dirichlet(np.ones(4), (3, 4)) + 0.3 * np.eye(4)
        weights = rng.random(3)
        assert undominated_classes(confusion) == slow(confusion.mean(0))
        assert undominated_classes(confusion, weights) == slow(np.average(confusion, axis=0, weights=weights))
        found |= set(undominated_classes(confusion))
    assert found == {0, 1, 2, 3}


def test_columns_matter_and_rows_do_not() -> None:
    # Class 0 is mostly called 1, but nothing else is called 0 as often.
    assert undominated_classes([[0.4, 0.6, 0.0], [0.0, 0.9, 0.1], [0.3, 0.0, 0.7]]) == []
    # Every diagonal cell is the largest of its row, yet class 0 is called 1 as often as class 1 is.
    assert undominated_classes([[0.55, 0.45, 0.0], [0.3, 0.4, 0.3], [0.0, 0.0, 1.0]]) == [1]


def test_groups_of_annotators() -> None:
    assert undominated_classes(cifar10_annotators()) == []
    assert undominated_classes(hammer_spammers(4, [0.9, 0.2])) == []
    spammers = hammer_spammers(3, [1 / 3, 1 / 3])
    assert undominated_classes(spammers) == [0, 1, 2], "what differs by rounding only is equal"
    for dominant in (True, False):
        flippers = pairwise_flippers(10, [0.35] * 5, torch.Generator().manual_seed(0), dominant=dominant)
        assert (undominated_classes(flippers) == []) == dominant


def test_who_labels_most_counts_most() -> None:
    good, adversary = np.eye(2), np.eye(2)[::-1]
    assert undominated_classes([good, adversary]) == [0, 1]
    assert undominated_classes([good, adversary], [3, 1]) == []
    assert undominated_classes([good, adversary], [0, 5]) == [0, 1]


def test_what_is_no_confusion_is_refused() -> None:
    with pytest.raises(ValueError, match=r"confusion must be \(R, K, K\) or \(K, K\), got \(2, 3\)"):
        undominated_classes(np.ones((2, 3)))
    with pytest.raises(ValueError, match="confusion must be finite: leave out annotators whose confusion is unknown"):
        undominated_classes(np.full((1, 2, 2), np.nan))
    for weights in ([1.0], [1.0, -1.0], [0.0, 0.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="weights must be 2 numbers, one an annotator, not negative and not all"):
            undominated_classes(np.ones((2, 2, 2)), weights)


# Theorem 1 of Tanno 2019. Its A is our T transposed: that the model explains the labels, Â P = A, is P T̂ = T here,
# where P[true, predicted] is the confusion of the classifier.


def feasible(annotators: int, classes: int, rng: np.random.Generator) -> tuple[Array, Array, Array]:
    """A random truth ``(R, K, K)`` and an estimate with the same labels and both means dominant, and its P."""
    while True:
        estimate = rng.dirichlet(np.full(classes, 0.5), (annotators, classes)) * 0.5 + 0.5 * np.eye(classes)
        mistaken = rng.dirichlet(np.full(classes, 0.5), classes)
        believed = np.eye(classes) + rng.random() * (mistaken - np.eye(classes))
        truth = believed @ estimate
        if not undominated_classes(truth) and not undominated_classes(estimate):
            return truth, estimate, believed


@pytest.mark.parametrize("annotators", [1, 4], ids=["lemma 1", "theorem 1"])
def test_no_estimate_that_explains_the_labels_has_a_smaller_trace_than_the_truth(annotators: int) -> None:
    rng = np.random.default_rng(annotators)
    for _ in range(300):
        truth, estimate, believed = feasible(annotators, int(rng.integers(2, 6)), rng)
        true, estimated = truth.mean(0).diagonal(), estimate.mean(0).diagonal()
        assert (estimated >= true - 1e-12).all(), "Eq. 5, cell by cell"
        # By how much: what P takes away from the diagonal, times at least the smallest margin of dominance.
        off = estimate.mean(0) - 2 * np.eye(len(believed))
        margin = (estimated - off.max(0)).min()
        assert estimated.sum() - true.sum() >= margin * (1 - believed.diagonal()).sum() - 1e-12


def test_equal_traces_mean_the_truth() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        truth, estimate, believed = feasible(3, 4, rng)
        gap = estimate.trace(axis1=1, axis2=2).mean() - truth.trace(axis1=1, axis2=2).mean()
        # The way to the truth, P -> I, closes the gap, and nothing else does.
        for step in (0.5, 0.1, 0.01, 0.0):
            nearer = np.linalg.inv(np.eye(4) + step * (believed - np.eye(4))) @ truth
            smaller = nearer.trace(axis1=1, axis2=2).mean() - truth.trace(axis1=1, axis2=2).mean()
            assert (smaller > 0) == (step > 0) or abs(smaller) < 1e-12
        assert gap > 0
        np.testing.assert_allclose(nearer, truth, atol=1e-12)


def test_without_dominance_of_the_estimate_the_trace_may_be_smaller() -> None:
    truth = hammer_spammers(3, [0.8]).numpy()
    swapped = np.eye(3)[[1, 2, 0]]
    estimate = swapped.T @ truth
    np.testing.assert_allclose(swapped @ estimate, truth)
    assert estimate.trace(axis1=1, axis2=2) < truth.trace(axis1=1, axis2=2)
    assert undominated_classes(estimate) == [0, 1, 2]


def recovered(truth: torch.Tensor, trace: float) -> tuple[torch.Tensor, float]:
    """Minimise the cross entropy of the labels plus the scaled mean trace over P and T̂; T̂ and the excess entropy."""
    annotators, classes, _ = truth.shape
    generator = torch.Generator().manual_seed(0)
    p = (4 * torch.eye(classes) + torch.randn(classes, classes, generator=generator)).double().requires_grad_()
    raw = (6 * torch.eye(classes) - 5).double().repeat(annotators, 1, 1).requires_grad_()
    optimiser = torch.optim.Adam([p, raw], 0.05)
    for step in range(1200):
        positive = torch.nn.functional.softplus(raw)
        estimate = positive / positive.sum(-1, keepdim=True)
        excess = -(truth * ((p.softmax(-1) @ estimate).log() - truth.log())).sum(-1).mean()
        # The weight of the trace falls, so that in the end the labels are explained exactly.
        loss = excess + trace * 0.997**step * estimate.diagonal(dim1=-2, dim2=-1).sum(-1).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return estimate.detach(), float(excess.detach())


def test_the_least_trace_finds_the_truth_and_the_labels_alone_do_not() -> None:
    # Three, one of them an adversary: alone nothing could be learned from it, but the mean is dominant.
    truth = torch.stack([*hammer_spammers(3, [0.75, 0.7]), hammer_spammers(3, [0.6])[0][[1, 2, 0]]])
    assert undominated_classes(truth[-1]) == [0, 1, 2]
    assert undominated_classes(truth) == []
    with_trace, excess = recovered(truth, trace=0.1)
    assert excess < 1e-3
    assert (with_trace - truth).abs().max() < 0.05
    without, excess = recovered(truth, trace=0.0)
    assert excess < 1e-3
    assert (without - truth).abs().max() > 0.1
