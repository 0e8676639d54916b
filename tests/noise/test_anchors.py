from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from truelabel.corruption import asymmetric, symmetric
from truelabel.noise import estimate_transition


def as_published(posterior: NDArray[np.float64], percentile: float | None) -> NDArray[np.float64]:
    """The routine of the public code, one class after another, but on a copy of the column."""
    classes = posterior.shape[1]
    rows = []
    for i in range(classes):
        column = posterior[:, i].copy()
        if percentile is not None:
            threshold = np.percentile(column, percentile, method="higher")
            column[column >= threshold] = 0.0
        best = np.argmax(column)
        rows.append([posterior[best, j] / posterior[best].sum() for j in range(classes)])
    return np.array(rows)


@pytest.mark.parametrize("percentile", [97.0, 50.0, 100.0, None])
@pytest.mark.parametrize(("n", "classes"), [(500, 3), (101, 10), (3001, 5)])
def test_as_in_the_published_code(n: int, classes: int, percentile: float | None) -> None:
    posterior = np.random.default_rng(n).dirichlet(np.full(classes, 0.5), n)
    before = posterior.copy()
    given = torch.from_numpy(posterior)
    ours = estimate_transition(given, None if percentile is None else percentile / 100)
    np.testing.assert_allclose(ours.numpy(), as_published(posterior, percentile), rtol=1e-12)
    assert np.array_equal(given.numpy(), before), "what was given is left alone"


def test_ties_at_the_top_are_all_left_out() -> None:
    # Seven of a hundred examples share the largest probability: the one below them is taken.
    posterior = torch.full((100, 2), 0.5, dtype=torch.double)
    posterior[:7] = torch.tensor([0.99, 0.01], dtype=torch.double)
    posterior[50] = torch.tensor([0.8, 0.2], dtype=torch.double)
    posterior[60] = torch.tensor([0.3, 0.7], dtype=torch.double)
    posterior[61:70] = torch.tensor([0.1, 0.9], dtype=torch.double)
    expected = [[0.8, 0.2], [0.3, 0.7]]
    torch.testing.assert_close(estimate_transition(posterior), torch.tensor(expected, dtype=torch.double))
    np.testing.assert_allclose(as_published(posterior.numpy(), 97.0), expected)


def test_the_maximum_rule_takes_the_surest_example() -> None:
    posterior = torch.tensor([[0.9, 0.1], [0.95, 0.05], [0.2, 0.8], [0.3, 0.7]])
    torch.testing.assert_close(estimate_transition(posterior, None), posterior[[1, 2]])


def test_a_class_that_is_equally_probable_everywhere_has_a_row_too() -> None:
    posterior = torch.tensor([[0.25, 0.5, 0.25], [0.25, 0.35, 0.4], [0.25, 0.4, 0.35]])
    for quantile in (0.97, 0.5, None):
        matrix = estimate_transition(posterior, quantile)
        assert matrix.isfinite().all()
        torch.testing.assert_close(matrix.sum(-1), torch.ones(3))
        assert matrix[0].tolist() == pytest.approx([0.25, 0.5, 0.25])
    assert estimate_transition(posterior[:1]).tolist() == [pytest.approx([0.25, 0.5, 0.25])] * 3


def test_rows_are_normalised() -> None:
    posterior = torch.tensor([[0.6, 0.2], [0.1, 0.3]])
    torch.testing.assert_close(estimate_transition(posterior, None), torch.tensor([[0.75, 0.25], [0.25, 0.75]]))


@pytest.mark.parametrize(
    "transition", [symmetric(4, 0.5), asymmetric(4, 0.4, {0: 1, 2: 3})], ids=["symmetric", "asymmetric"]
)
def test_a_known_transition_comes_back_from_exact_posteriors(transition: Tensor) -> None:
    generator = np.random.default_rng(0)
    clean = torch.from_numpy(generator.dirichlet(np.full(4, 0.2), 5000))
    anchors = torch.eye(4, dtype=torch.double)
    exact = estimate_transition(torch.cat([clean, anchors]) @ transition, None)
    torch.testing.assert_close(exact, transition)
    # Where a few per cent of each class are beyond doubt the percentile finds one nearly beyond doubt.
    many = torch.cat([clean, anchors.repeat(100, 1)]) @ transition
    torch.testing.assert_close(estimate_transition(many, 0.97), transition, atol=0.03, rtol=0)


@pytest.mark.parametrize("shape", [(3,), (0, 3), (2, 3, 4)])
def test_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"^posterior must be \(N, K\) with at least one row, got \("):
        estimate_transition(torch.zeros(shape))


@pytest.mark.parametrize("quantile", [0.0, -0.5, 97.0, math.nan])
def test_a_percentage_is_no_quantile(quantile: float) -> None:
    with pytest.raises(ValueError, match=rf"^quantile must lie in \(0, 1\], or be None, got {quantile!r}$"):
        estimate_transition(torch.ones(2, 2), quantile)
