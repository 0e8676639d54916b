from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from truelabel.annotations import Annotations
from truelabel.fusion import GladFused, glad
from truelabel.fusion.glad import climb_easiness, curvature, softplus
from truelabel.fusion.kernels import Votes
from truelabel.fusion.right_or_wrong import expect_hits

MATRICES = arrays(np.int64, st.tuples(st.integers(1, 8), st.integers(1, 5)), elements=st.integers(-1, 2))
Simulate = Callable[..., tuple[Annotations, NDArray[np.int64]]]
Array = NDArray[np.float64]


def slow_evidence(matrix: list[list[int]], k: int, ability: Array, log_easiness: Array) -> tuple[float, list[Array]]:
    """Log joint density of labels and traits in plain loops, and the posterior."""
    evidence, posterior = 0.0, []
    for row, b in zip(matrix, log_easiness, strict=True):
        joint = np.full(k, 1 / k)
        for r, label in enumerate(row):
            if label >= 0:
                right = 1 / (1 + math.exp(-ability[r] * math.exp(b)))
                joint *= [right if true == label else (1 - right) / (k - 1) for true in range(k)]
        evidence += math.log(joint.sum()) - (b - 1) ** 2 / 2
        posterior.append(joint / joint.sum())
    return evidence - sum((a - 1) ** 2 / 2 for a in ability), posterior


def labels_of(matrix: NDArray[np.int64]) -> Annotations:
    return Annotations.from_matrix(matrix, classes=3)


@pytest.mark.parametrize("iterations", [1, 2, 20])
def test_evidence_and_posterior_are_those_of_the_model(iterations: int) -> None:
    matrix = np.random.default_rng(0).integers(-1, 3, (20, 4))
    matrix[3] = -1
    with pytest.warns(ConvergenceWarning):
        fused = glad(labels_of(matrix), max_iterations=iterations, tolerance=0.0)
    evidence, posterior = slow_evidence(matrix.tolist(), 3, fused.ability, np.log(fused.easiness))
    assert fused.evidence == pytest.approx(evidence)
    np.testing.assert_allclose(fused.posterior, posterior)


def test_it_ends_at_a_maximum() -> None:
    matrix = np.random.default_rng(1).integers(-1, 3, (15, 4))
    fused = glad(labels_of(matrix), tolerance=1e-12, max_iterations=10_000)
    best, _ = slow_evidence(matrix.tolist(), 3, fused.ability, np.log(fused.easiness))
    for size in (1e-3, 0.1):
        for step in size * np.concatenate([np.eye(19), -np.eye(19)]):
            moved = slow_evidence(matrix.tolist(), 3, fused.ability + step[:4], np.log(fused.easiness) + step[4:])
            assert moved[0] < best


@given(MATRICES)
@settings(max_examples=60, deadline=None)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_evidence_never_falls(matrix: NDArray[np.int64]) -> None:
    fused = glad(labels_of(matrix), tolerance=0.0, max_iterations=100)
    assert np.isfinite(fused.history).all()
    assert (np.diff(fused.history) > -1e-9).all()


def test_with_equal_easiness_the_posterior_is_that_of_one_coin(simulate: Simulate) -> None:
    annotations, _ = simulate(50, [0.9, 0.7, 0.6], 3)
    with pytest.warns(ConvergenceWarning):
        start = glad(annotations, max_iterations=1)  # where all traits are equal
    right = np.full((3, 3), expit(math.e))
    votes, posterior = Votes(annotations), np.empty((50, 3))
    expect_hits(votes, votes.label_counts(), np.log(right), np.log((1 - right) / 2), np.full(3, 1 / 3), posterior, None)
    np.testing.assert_allclose(start.posterior, posterior)
    np.testing.assert_allclose(start.confusion[:, 0, 0], right[:, 0])


def test_hard_examples_and_able_annotators_are_found() -> None:
    # On the last 100 of 300 examples everybody guesses; annotator 3 always does.
    rng = np.random.default_rng(0)
    truth, guess = rng.integers(0, 3, (300, 1)), rng.integers(0, 3, (300, 8))
    right = rng.random((300, 8)) < np.array([0.95, 0.95, 0.9, 0.0, 0.9, 0.9, 0.9, 0.9])
    right[200:] = False
    fused = glad(labels_of(np.where(right, truth, guess)))
    assert isinstance(fused, GladFused)
    assert np.median(fused.easiness[:200]) > 2 * np.median(fused.easiness[200:])
    assert fused.ability.argmin() == 3
    assert (fused.labels[:200] == truth[:200, 0]).mean() > 0.97


def test_an_adversary_has_negative_ability(simulate: Simulate) -> None:
    annotations, truth = simulate(300, [0.9, 0.9, 0.9, 0.9, 0.05], 2)
    fused = glad(annotations)
    assert fused.ability[4] < 0 < fused.ability[:4].min()
    assert fused.confusion[4, 0, 0] < 0.2
    assert (fused.labels == truth).mean() > 0.97


def test_silence_keeps_the_mean_of_the_prior() -> None:
    fused = glad(Annotations.from_matrix([[0, 0, -1], [1, 0, -1], [-1, -1, -1]], classes=2))
    assert fused.ability[2] == 1
    assert fused.easiness[2] == pytest.approx(math.e)
    assert fused.confusion[2, 0, 0] == pytest.approx(expit(math.e))


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
    fused = glad(annotations)
    for probs in (fused.posterior, fused.confusion, fused.prior):
        np.testing.assert_allclose(probs.sum(-1), 1)
    assert fused.converged


def test_wrong_options_are_refused() -> None:
    with pytest.raises(ValueError, match="tolerance must be at least 0, got -1"):
        glad(Annotations.from_matrix([[0, 1]]), tolerance=-1)


def test_the_bound_touches_and_lies_below() -> None:
    x = np.linspace(-30, 30, 301)
    for at in (0.0, 1e-9, 0.3, -2.0, 40.0):
        omega = curvature(np.array([at]))[0]
        bound = -softplus(np.array([-at])) + (x - at) / 2 - omega * (x**2 - at**2) / 2
        assert (bound <= -softplus(-x) + 1e-9).all()
    assert curvature(np.array([0.0, 1e-5])).tolist() == pytest.approx([0.25, 0.25])


def test_easiness_climbs_to_the_top() -> None:
    rng = np.random.default_rng(0)
    slope, curve = rng.normal(scale=3, size=50), rng.exponential(2, 50)
    start = rng.normal(1, 1, 50)
    found = climb_easiness(start, slope, curve, steps=200)
    for b0, b, s, c in zip(start, found, slope, curve, strict=True):

        def depth(x: float, s: float = s, c: float = c) -> float:
            return -(s * math.exp(x) - c * math.exp(2 * x) / 2 - (x - 1) ** 2 / 2)

        assert depth(b) <= depth(b0)
        nearby = minimize_scalar(depth, bounds=(b - 0.5, b + 0.5), method="bounded", options={"xatol": 1e-10})
        assert depth(b) == pytest.approx(nearby.fun, abs=1e-8)
