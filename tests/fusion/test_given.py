from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel.annotations import Annotations
from truelabel.fusion import posterior_given

Floats = NDArray[np.float64]


@pytest.fixture
def crowd() -> tuple[NDArray[np.int64], Floats, Floats]:
    """Labels (40, 5) of which some are missing, confusion, and a prior for every example."""
    rng = np.random.default_rng(0)
    matrix = rng.integers(-1, 3, (40, 5))
    matrix[7] = -1
    return matrix, rng.dirichlet(np.ones(3), (5, 3)), rng.dirichlet(np.ones(3), 40)


def by_loops(matrix: NDArray[np.int64], prior: Floats, confusion: Floats) -> Floats:
    posterior = np.empty((len(matrix), confusion.shape[1]))
    for n, row in enumerate(matrix.tolist()):
        for k in range(posterior.shape[1]):
            posterior[n, k] = prior[n, k] * math.prod(confusion[r, k, j] for r, j in enumerate(row) if j >= 0)
        posterior[n] /= posterior[n].sum()
    return posterior


def test_bayes_by_loops(crowd: tuple[NDArray[np.int64], Floats, Floats]) -> None:
    matrix, confusion, prior = crowd
    annotations = Annotations.from_matrix(matrix, classes=3)
    np.testing.assert_allclose(posterior_given(annotations, prior, confusion), by_loops(matrix, prior, confusion))
    same = np.tile(prior[0], (40, 1))
    np.testing.assert_allclose(posterior_given(annotations, prior[0], confusion), by_loops(matrix, same, confusion))


def test_the_prior_where_nobody_labelled(crowd: tuple[NDArray[np.int64], Floats, Floats]) -> None:
    matrix, confusion, prior = crowd
    posterior = posterior_given(Annotations.from_matrix(matrix, classes=3), prior, confusion)
    np.testing.assert_allclose(posterior[7], prior[7])


def test_the_prior_given_is_left_as_it_is(crowd: tuple[NDArray[np.int64], Floats, Floats]) -> None:
    matrix, confusion, prior = crowd
    before = prior.copy()
    posterior_given(Annotations.from_matrix(matrix, classes=3), prior, confusion)
    np.testing.assert_array_equal(prior, before)


def test_a_thousand_labels_do_not_underflow() -> None:
    annotations = Annotations.from_matrix(np.tile([0, 1, 0], (2, 500)), classes=2)
    confusion = np.tile([[0.6, 0.4], [0.4, 0.6]], (1500, 1, 1))
    # A thousand times 0 and five hundred times 1: the odds are (0.6 / 0.4)^500, each likelihood is below 1e-400.
    posterior = posterior_given(annotations, np.array([0.5, 0.5]), confusion)
    np.testing.assert_allclose(posterior, [[1.0, (2 / 3) ** 500]] * 2, rtol=1e-9)


def test_what_is_impossible_is_barely_possible() -> None:
    annotations = Annotations.from_matrix([[0, 1]], classes=2)
    certain = np.tile(np.eye(2), (2, 1, 1))
    np.testing.assert_allclose(posterior_given(annotations, np.array([0.3, 0.7]), certain), [[0.3, 0.7]])


def test_what_does_not_fit_is_refused(crowd: tuple[NDArray[np.int64], Floats, Floats]) -> None:
    matrix, confusion, prior = crowd
    annotations = Annotations.from_matrix(matrix, classes=3)
    with pytest.raises(ValueError, match=r"^prior must be \(3,\) or \(40, 3\), got \(39, 3\)$"):
        posterior_given(annotations, prior[1:], confusion)
    with pytest.raises(ValueError, match=r"^confusion must be \(5, 3, 3\), got \(4, 3, 3\)$"):
        posterior_given(annotations, prior, confusion[1:])
