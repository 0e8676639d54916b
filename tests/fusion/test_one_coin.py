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
from truelabel.fusion import dawid_skene, one_coin

MATRICES = arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.integers(-1, 2))
Simulate = Callable[..., tuple[Annotations, NDArray[np.int64]]]


def slow(matrix: list[list[int]], k: int, pseudo: float, iterations: int) -> dict[str, Any]:
    """Dawid–Skene in plain loops, with every matrix forced to one number on the diagonal and one elsewhere."""
    posterior = []
    for row in matrix:
        votes = [label for label in row if label >= 0]
        posterior.append([votes.count(c) / max(len(votes), 1) for c in range(k)])
    spoken = [n for n, row in enumerate(matrix) if max(row) >= 0]
    for _ in range(iterations):
        prior = [sum(posterior[n][c] for n in spoken) / len(spoken) for c in range(k)]
        skills = []
        for r in range(len(matrix[0])):
            given = [(n, row[r]) for n, row in enumerate(matrix) if row[r] >= 0]
            right = k * pseudo + sum(posterior[n][label] for n, label in given)
            skills.append(right / (k * k * pseudo + len(given)))

        def chance(r: int, true: int, label: int, skills: list[float] = skills) -> float:
            return skills[r] if true == label else (1 - skills[r]) / (k - 1)

        evidence, posterior = 0.0, []
        for row in matrix:
            joint = [
                prior[c] * math.prod(chance(r, c, label) for r, label in enumerate(row) if label >= 0) for c in range(k)
            ]
            posterior.append([p / sum(joint) for p in joint])
            evidence += math.log(sum(joint))
        for r in range(len(skills)):
            evidence += sum(pseudo * math.log(k * chance(r, true, j)) for true in range(k) for j in range(k))
    return {"posterior": posterior, "skills": skills, "prior": prior, "evidence": evidence}


@pytest.mark.parametrize("iterations", [1, 2, 6])
def test_it_equals_plain_loops(iterations: int) -> None:
    matrix = np.random.default_rng(0).integers(-1, 3, (20, 4))
    matrix[3] = -1
    with pytest.warns(ConvergenceWarning):
        fused = one_coin(
            Annotations.from_matrix(matrix, classes=3), smoothing=0.1, max_iterations=iterations, tolerance=0.0
        )
    expected = slow(matrix.tolist(), 3, 0.1, iterations)
    np.testing.assert_allclose(fused.posterior, expected["posterior"])
    np.testing.assert_allclose(fused.confusion.diagonal(0, 1, 2), np.repeat(np.c_[expected["skills"]], 3, 1))
    np.testing.assert_allclose(fused.prior, expected["prior"])
    assert fused.evidence == pytest.approx(expected["evidence"])


@given(MATRICES, st.sampled_from([0.001, 0.01, 0.7]))
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_evidence_never_falls(matrix: NDArray[np.int64], smoothing: float) -> None:
    fused = one_coin(Annotations.from_matrix(matrix, classes=3), smoothing=smoothing, tolerance=0.0)
    assert np.isfinite(fused.history).all()
    assert (np.diff(fused.history) > -1e-9).all()


def test_its_evidence_is_at_most_that_of_free_matrices(simulate: Simulate) -> None:
    annotations, truth = simulate(300, [0.9, 0.8, 0.7, 0.6], 3)
    one, free = one_coin(annotations), dawid_skene(annotations)
    assert one.evidence is not None
    assert free.evidence is not None
    assert one.evidence < free.evidence
    assert (one.labels == truth).mean() >= (free.labels == truth).mean() - 0.02


def test_skills_are_recovered(simulate: Simulate) -> None:
    annotations, truth = simulate(3000, [0.9, 0.7, 0.5, 0.3], 4)
    true = [(annotations.matrix()[:, r] == truth).mean() for r in range(4)]
    np.testing.assert_allclose(one_coin(annotations).confusion[:, 0, 0], true, atol=0.03)


@pytest.mark.parametrize(
    "annotations",
    [
        Annotations.from_matrix([[0, 0], [0, -1]], classes=1),
        Annotations.from_matrix([[-1, -1]] * 3, classes=3),
        Annotations.from_matrix(np.zeros((0, 3), int), classes=2),
        Annotations.from_matrix(np.zeros((3, 0), int), classes=2),
    ],
    ids=["one class", "no labels", "no examples", "no annotators"],
)
def test_degenerate_tables(annotations: Annotations) -> None:
    fused = one_coin(annotations)
    for probs in (fused.posterior, fused.confusion, fused.prior):
        np.testing.assert_allclose(probs.sum(-1), 1)
    assert fused.converged


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="smoothing must be above 0, got 0"):
        one_coin(Annotations.from_matrix([[0, 1]]), smoothing=0)
    with pytest.raises(ValueError, match="max_iterations must be at least 1"):
        one_coin(Annotations.from_matrix([[0, 1]]), max_iterations=0)


def test_single_labels_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="no example has two labels"):
        one_coin(Annotations.from_labels([0, 1, 1]))
