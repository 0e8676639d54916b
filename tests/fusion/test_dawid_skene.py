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
from truelabel.fusion import Fused, dawid_skene
from truelabel.fusion.dawid_skene import log_density

MATRICES = arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.integers(-1, 2))
Simulate = Callable[..., tuple[Annotations, NDArray[np.int64]]]


def slow(matrix: list[list[int]], k: int, pseudo: list[list[float]], iterations: int) -> dict[str, Any]:
    """Dawid–Skene in plain loops and plain products."""
    spoken = [row for row in matrix if any(label >= 0 for label in row)]
    shares = [[0.0] * k for _ in matrix]
    for n, row in enumerate(matrix):
        votes = [label for label in row if label >= 0]
        for label in votes:
            shares[n][label] += 1 / len(votes)
    posterior, evidence = shares, math.nan
    for _ in range(iterations):
        prior = [sum(q[c] for q, row in zip(posterior, matrix, strict=True) if row in spoken) for c in range(k)]
        prior = [share / len(spoken) for share in prior]
        confusion = []
        for r in range(len(matrix[0])):
            counts = [list(row) for row in pseudo]
            for n, row in enumerate(matrix):
                for true in range(k):
                    if row[r] >= 0:
                        counts[true][row[r]] += posterior[n][true]
            confusion.append([[cell / sum(row) if sum(row) else 1 / k for cell in row] for row in counts])
        posterior, evidence = [], 0.0
        for row in matrix:
            joint = [
                prior[c] * math.prod(confusion[r][c][label] for r, label in enumerate(row) if label >= 0)
                for c in range(k)
            ]
            posterior.append([p / sum(joint) for p in joint])
            evidence += math.log(sum(joint))
        for table in confusion:
            for true in range(k):
                evidence += sum(pseudo[true][j] * math.log(k * table[true][j]) for j in range(k) if pseudo[true][j])
    return {"posterior": posterior, "confusion": confusion, "prior": prior, "evidence": evidence}


def stopped(annotations: Annotations, iterations: int, **options: Any) -> Fused:
    with pytest.warns(ConvergenceWarning):
        return dawid_skene(annotations, max_iterations=iterations, tolerance=0.0, **options)


@pytest.mark.parametrize("iterations", [1, 2, 5])
@pytest.mark.parametrize("smoothing", [0.0, 0.01, [[2.0, 0.1, 0.0], [0.5, 1.0, 0.2], [0.1, 0.0, 3.0]]])
def test_it_equals_plain_loops(iterations: int, smoothing: Any) -> None:
    matrix = np.random.default_rng(0).integers(-1, 3, (20, 4))
    matrix[3] = -1
    fused = stopped(Annotations.from_matrix(matrix, classes=3), iterations, smoothing=smoothing)
    expected = slow(matrix.tolist(), 3, np.broadcast_to(smoothing, (3, 3)).tolist(), iterations)
    for name in ("posterior", "confusion", "prior"):
        np.testing.assert_allclose(getattr(fused, name), expected[name], atol=1e-12)
    assert fused.evidence == pytest.approx(expected["evidence"])
    assert fused.evidence == fused.history[-1]
    assert len(fused.history) == iterations


@given(MATRICES, st.sampled_from([0.0, 0.01, 0.7]))
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_evidence_never_falls(matrix: NDArray[np.int64], smoothing: float) -> None:
    fused = dawid_skene(Annotations.from_matrix(matrix, classes=3), smoothing=smoothing, tolerance=0.0)
    assert np.isfinite(fused.history).all()
    assert (np.diff(fused.history) > -1e-9).all()
    for probs in (fused.posterior, fused.confusion, fused.prior):
        np.testing.assert_allclose(probs.sum(-1), 1)


def test_an_adversary_is_worth_as_much_as_a_friend(simulate: Simulate) -> None:
    annotations, truth = simulate(400, [0.9, 0.8, 0.8], 2)
    matrix = annotations.matrix()
    contrary = np.column_stack([matrix, 1 - matrix[:, 0], 1 - matrix[:, 1]])
    fused = dawid_skene(Annotations.from_matrix(contrary, classes=2))
    assert (fused.labels == truth).mean() > 0.9
    np.testing.assert_allclose(fused.confusion[3], fused.confusion[0][:, ::-1], atol=1e-9)


def test_confusions_are_recovered(simulate: Simulate) -> None:
    annotations, truth = simulate(3000, [0.9, 0.7, 0.6, 0.5, 0.4], 4)
    fused = dawid_skene(annotations)
    true = [(annotations.matrix()[:, r] == truth).mean() for r in range(5)]
    np.testing.assert_allclose(fused.confusion.diagonal(0, 1, 2).mean(-1), true, atol=0.03)
    assert fused.converged


def test_many_labels_do_not_underflow() -> None:
    matrix = np.random.default_rng(0).integers(0, 2, (3, 5000))
    fused = dawid_skene(Annotations.from_matrix(matrix, classes=2))
    assert np.isfinite(fused.posterior).all()
    assert fused.evidence is not None
    assert fused.evidence > -3 * 5000 * math.log(2) - 1


def test_single_labels_come_back_without_pseudo_counts_and_are_warned_of_with_them() -> None:
    labels = np.random.default_rng(0).integers(0, 4, 50)
    annotations = Annotations.from_labels(labels)
    fused = dawid_skene(annotations, smoothing=0.0)
    np.testing.assert_array_equal(fused.labels, labels)
    np.testing.assert_allclose(fused.confusion[0], np.eye(4))
    with pytest.warns(UserWarning, match="no example has two labels"):
        dawid_skene(annotations)


@pytest.mark.parametrize(
    "annotations",
    [
        Annotations.from_matrix([[0, 0], [0, -1]], classes=1),
        Annotations.from_matrix([[-1, -1]] * 3, classes=3),
        Annotations.from_matrix(np.zeros((0, 3), int), classes=2),
        Annotations.from_matrix(np.zeros((3, 0), int), classes=2),
        Annotations.from_matrix([[1, 1]], classes=4),
    ],
    ids=["one class", "no labels", "no examples", "no annotators", "one example"],
)
def test_degenerate_tables(annotations: Annotations) -> None:
    fused = dawid_skene(annotations)
    n, r, k = len(annotations.examples), len(annotations.annotators), len(annotations.classes)
    assert (fused.posterior.shape, fused.confusion.shape) == ((n, k), (r, k, k))
    for probs in (fused.posterior, fused.confusion, fused.prior):
        np.testing.assert_allclose(probs.sum(-1), 1)
    assert fused.converged


def test_wrong_options_are_refused() -> None:
    annotations = Annotations.from_matrix([[0, 1]], classes=2)
    with pytest.raises(ValueError, match="smoothing must be at least 0, got -1.0"):
        dawid_skene(annotations, smoothing=-1)
    with pytest.raises(ValueError, match=r"smoothing must be a number or \(2, 2\), got shape \(3,\)"):
        dawid_skene(annotations, smoothing=[1, 2, 3])
    with pytest.raises(ValueError, match="tolerance"):
        dawid_skene(annotations, tolerance=-1)


def test_density_is_that_of_scipy_relative_to_even() -> None:
    from scipy.stats import dirichlet

    probs = np.random.default_rng(0).dirichlet(np.ones(3), 2)
    pseudo = np.array([0.5, 0.01, 2.0])
    expected = sum(dirichlet.logpdf(row, 1 + pseudo) - dirichlet.logpdf(np.full(3, 1 / 3), 1 + pseudo) for row in probs)
    assert log_density(probs, pseudo) == pytest.approx(expected)


ACCURACY = {"rte": 92.75, "bluebird": 89.81, "sentiment": 91.52, "labelme": 79.2}
"""Of crowd-kit 1.4.2, in percent; for bluebird after 300 iterations, because it stops after two by itself (88.89)."""


def test_real_people(people: tuple[str, Annotations, NDArray[np.int64]]) -> None:
    name, annotations, truth = people
    fused = dawid_skene(annotations)
    assert abs(100 * (fused.labels == truth).mean() - ACCURACY[name]) <= 0.2
    assert (np.diff(fused.history) >= 0).all()
    assert fused.converged
