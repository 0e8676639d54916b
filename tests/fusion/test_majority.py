from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truelabel.annotations import Annotations
from truelabel.coding import LabelError
from truelabel.fusion import confusion_from_posterior, majority_vote

MATRICES = arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.integers(-1, 2))


def slow_vote(matrix: np.ndarray[Any, Any], classes: int) -> tuple[list[list[float]], list[float]]:
    """Shares of votes and their mean, in plain loops."""
    shares: list[list[float] | None] = []
    for row in matrix.tolist():
        votes = [label for label in row if label >= 0]
        shares.append([votes.count(k) / len(votes) for k in range(classes)] if votes else None)
    spoken = [share for share in shares if share is not None]
    prior = [sum(share[k] for share in spoken) / len(spoken) if spoken else 1 / classes for k in range(classes)]
    return [prior if share is None else share for share in shares], prior


@given(MATRICES)
@settings(max_examples=50, deadline=None)
def test_shares_of_votes_in_plain_loops(matrix: np.ndarray[Any, Any]) -> None:
    posterior, prior = slow_vote(matrix, 3)
    annotations = Annotations.from_matrix(matrix, classes=3)
    fused = majority_vote(annotations, ties="lowest")
    np.testing.assert_allclose(fused.posterior, posterior)
    np.testing.assert_allclose(fused.prior, prior)
    np.testing.assert_allclose(fused.confusion, confusion_from_posterior(annotations, np.array(posterior)))
    assert fused.evidence is None
    assert fused.converged is True


@given(MATRICES, st.integers(0, 2**31))
@settings(max_examples=50, deadline=None)
def test_labels_in_plain_loops(matrix: np.ndarray[Any, Any], seed: int) -> None:
    annotations = Annotations.from_matrix(matrix, classes=3)
    lowest = majority_vote(annotations, ties="lowest", seed=seed).labels
    drawn = majority_vote(annotations, seed=seed).labels
    for row, low, lot in zip(matrix.tolist(), lowest, drawn, strict=True):
        votes = [label for label in row if label >= 0]
        if not votes:
            continue
        counts = [votes.count(k) for k in range(3)]
        winners = [k for k in range(3) if counts[k] == max(counts)]
        assert low == winners[0]
        assert lot in winners


def tied(n: int) -> Annotations:
    """Classes 1 and 3 of four are named once each, for n examples."""
    return Annotations.from_matrix(np.tile([3, 1, -1], (n, 1)), classes=4)


def test_a_seed_decides_ties() -> None:
    first = majority_vote(tied(100), seed=0).labels
    np.testing.assert_array_equal(majority_vote(tied(100), seed=0).labels, first)
    assert (majority_vote(tied(100), seed=1).labels != first).any()
    np.testing.assert_array_equal(majority_vote(tied(100), seed=5, ties="lowest").labels, np.ones(100))


def test_ties_are_broken_evenly() -> None:
    n = 6000
    two = majority_vote(tied(n), seed=3).labels
    three = majority_vote(Annotations.from_matrix(np.tile([0, 1, 3], (n, 1)), classes=4), seed=4).labels
    for labels, winners in ((two, [1, 3]), (three, [0, 1, 3])):
        share = 1 / len(winners)
        assert set(labels) == set(winners)
        counts = np.bincount(labels, minlength=4)[winners]
        assert (np.abs(counts / n - share) < 4 * np.sqrt(share * (1 - share) / n)).all()


def test_only_ties_are_drawn() -> None:
    matrix = np.array([[2, 2, 0], [0, 0, 0], [1, 2, 1]] * 50)
    for seed in range(5):
        labels = majority_vote(Annotations.from_matrix(matrix, classes=3), seed=seed).labels
        np.testing.assert_array_equal(labels, [2, 0, 1] * 50)


def test_examples_without_labels_get_the_mean_vote() -> None:
    fused = majority_vote(Annotations.from_matrix([[1, 1], [1, 0], [-1, -1]], classes=2))
    np.testing.assert_allclose(fused.posterior[2], [0.25, 0.75])
    assert fused.labels[2] == 1
    nothing = majority_vote(Annotations.from_matrix([[-1, -1]], classes=4))
    np.testing.assert_allclose(nothing.posterior, [[0.25] * 4])


def test_names_do_not_change_positions() -> None:
    fused = majority_vote(Annotations.from_matrix([["b", "c", "c"], ["a", "a", None]]), ties="lowest")
    np.testing.assert_array_equal(fused.labels, [2, 0])


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="ties must be 'random' or 'lowest', got 'highest'"):
        majority_vote(tied(2), ties="highest")  # type: ignore[arg-type]


def test_masks_are_refused() -> None:
    with pytest.raises(LabelError, match="not for masks"):
        majority_vote(Annotations.from_masks(np.zeros((2, 3, 4, 4), int), classes=2))
