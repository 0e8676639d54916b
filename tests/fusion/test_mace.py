from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from truelabel.annotations import Annotations
from truelabel.fusion import MaceFused, mace, majority_vote

MATRICES = arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.integers(-1, 2))
Simulate = Callable[..., tuple[Annotations, NDArray[np.int64]]]


def slow(matrix: list[list[int]], k: int, pseudo: float, iterations: int) -> dict[str, Any]:
    """MACE in plain loops, with the hidden "knows" of every label written out."""
    annotators = range(len(matrix[0]))
    knows, strategy = [], [[1 / k] * k for _ in annotators]
    for r in annotators:
        shares = []
        for row in matrix:
            votes = [label for label in row if label >= 0]
            if row[r] >= 0:
                shares.append(votes.count(row[r]) / len(votes))
        knows.append((sum(shares) + 1) / (len(shares) + 2))
    for iteration in range(iterations):
        evidence, posterior = 0.0, []
        known, guessed = [pseudo] * len(knows), [[pseudo] * k for _ in annotators]
        for row in matrix:
            joint = []
            for true in range(k):
                chances = [
                    knows[r] * (label == true) + (1 - knows[r]) * strategy[r][label]
                    for r, label in enumerate(row)
                    if label >= 0
                ]
                joint.append(math.prod(chances) / k)
            evidence += math.log(sum(joint))
            posterior.append([p / sum(joint) for p in joint])
            for r, label in enumerate(row):
                if label >= 0:
                    by_guess = (1 - knows[r]) * strategy[r][label]
                    share = posterior[-1][label] * knows[r] / (knows[r] + by_guess)
                    known[r] += share
                    guessed[r][label] += 1 - share
        for r in annotators:
            evidence += pseudo * (math.log(2 * knows[r]) + math.log(2 * (1 - knows[r])))
            evidence += sum(pseudo * math.log(k * p) for p in strategy[r])
        if iteration < iterations - 1:
            knows = [a / (a + sum(g) - (k - 1) * pseudo) for a, g in zip(known, guessed, strict=True)]
            strategy = [[c / sum(g) for c in g] for g in guessed]
    return {"posterior": posterior, "competence": knows, "strategy": strategy, "evidence": evidence}


@pytest.mark.parametrize("iterations", [1, 2, 6])
def test_it_equals_plain_loops(iterations: int) -> None:
    matrix = np.random.default_rng(0).integers(-1, 3, (20, 4))
    matrix[3] = -1
    with pytest.warns(ConvergenceWarning):
        fused = mace(
            Annotations.from_matrix(matrix, classes=3),
            smoothing=0.1,
            restarts=1,
            max_iterations=iterations,
            tolerance=0.0,
        )
    expected = slow(matrix.tolist(), 3, 0.1, iterations)
    for name in ("posterior", "competence", "strategy"):
        np.testing.assert_allclose(getattr(fused, name), expected[name])
    assert fused.evidence == pytest.approx(expected["evidence"])


@given(MATRICES, st.sampled_from([0.001, 0.01, 0.7]))
@settings(max_examples=40, deadline=None)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_evidence_never_falls(matrix: NDArray[np.int64], smoothing: float) -> None:
    annotations = Annotations.from_matrix(matrix, classes=3)
    fused = mace(annotations, smoothing=smoothing, tolerance=0.0, restarts=2, max_iterations=100)
    assert np.isfinite(fused.history).all()
    assert (np.diff(fused.history) > -1e-9).all()


def test_a_spammer_and_a_favourite_class_are_found(simulate: Simulate) -> None:
    annotations, truth = simulate(300, [0.9, 0.8, 0.8], 3)
    rng = np.random.default_rng(1)
    always_two, at_random = np.full(300, 2), rng.integers(0, 3, 300)
    matrix = np.column_stack([annotations.matrix(), always_two, always_two, always_two, at_random])
    fused = mace(Annotations.from_matrix(matrix, classes=3))
    assert isinstance(fused, MaceFused)
    assert fused.competence[:3].min() > 0.6
    assert fused.competence[3:].max() < 0.1
    assert fused.strategy[3, 2] > 0.99
    np.testing.assert_allclose(fused.strategy[6], 1 / 3, atol=0.1)
    assert (fused.labels == truth).mean() > 0.93
    vote = majority_vote(Annotations.from_matrix(matrix, classes=3))
    assert (vote.labels == truth).mean() < 0.8


def test_confusion_is_knowing_or_else_the_strategy(simulate: Simulate) -> None:
    fused = mace(simulate(100, [0.9, 0.7, 0.5], 3)[0])
    for r in range(3):
        for true in range(3):
            for said in range(3):
                expected = fused.competence[r] * (true == said) + (1 - fused.competence[r]) * fused.strategy[r, said]
                assert fused.confusion[r, true, said] == pytest.approx(expected)


def test_restarts_can_only_help_and_obey_the_seed() -> None:
    annotations = Annotations.from_matrix(np.random.default_rng(4).integers(0, 3, (30, 5)), classes=3)
    one, ten, again = mace(annotations, restarts=1), mace(annotations), mace(annotations)
    assert one.evidence is not None
    assert ten.evidence is not None
    assert ten.evidence >= one.evidence
    assert ten.evidence == again.evidence
    np.testing.assert_array_equal(ten.posterior, again.posterior)
    assert {mace(annotations, restarts=3, seed=s).evidence for s in range(5)} != {one.evidence}


@pytest.mark.parametrize(
    "annotations",
    [
        Annotations.from_matrix([[0, 0], [0, -1]], classes=1),
        Annotations.from_matrix([[-1, -1]] * 3, classes=3),
        Annotations.from_matrix(np.zeros((0, 3), int), classes=2),
        Annotations.from_matrix(np.zeros((3, 0), int), classes=2),
        Annotations.from_labels([0, 1, 2, 2]),
    ],
    ids=["one class", "no labels", "no examples", "no annotators", "single labels"],
)
def test_degenerate_tables(annotations: Annotations) -> None:
    fused = mace(annotations)
    for probs in (fused.posterior, fused.confusion, fused.prior):
        np.testing.assert_allclose(probs.sum(-1), 1)
    assert fused.converged


def test_wrong_options_are_refused() -> None:
    annotations = Annotations.from_matrix([[0, 1]])
    with pytest.raises(ValueError, match="smoothing must be above 0, got 0"):
        mace(annotations, smoothing=0)
    with pytest.raises(ValueError, match="restarts must be at least 1, got 0"):
        mace(annotations, restarts=0)
