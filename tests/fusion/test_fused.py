from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from truelabel.annotations import Annotations
from truelabel.fusion import Fused, confusion_from_posterior
from truelabel.fusion.fused import rows_to_one


def slow_confusion(annotations: Annotations, posterior: list[list[float]], smoothing: float) -> list[list[list[float]]]:
    """Normalised soft counts in plain loops; a row that was never seen is even."""
    k = len(annotations.classes)
    counts = [[[smoothing] * k for _ in range(k)] for _ in annotations.annotators]
    for n, row in enumerate(annotations.matrix().tolist()):
        for r, observed in enumerate(row):
            if observed >= 0:
                for true in range(k):
                    counts[r][true][observed] += posterior[n][true]
    return [[[cell / sum(row) for cell in row] if sum(row) else [1 / k] * k for row in matrix] for matrix in counts]


@pytest.mark.parametrize("smoothing", [0.0, 0.01, 2.0])
def test_soft_counts_in_plain_loops(smoothing: float) -> None:
    rng = np.random.default_rng(0)
    annotations = Annotations.from_matrix(rng.integers(-1, 4, (30, 5)), classes=4)
    posterior = rng.dirichlet(np.ones(4), 30)
    expected = slow_confusion(annotations, posterior.tolist(), smoothing)
    np.testing.assert_allclose(confusion_from_posterior(annotations, posterior, smoothing), expected)


def test_rows_are_true_and_columns_observed() -> None:
    # Annotator 0 calls every 0 a 1; annotator 1 is right.
    annotations = Annotations.from_matrix([[1, 0], [1, 0], [2, 2], [1, 1]], classes=3)
    confusion = confusion_from_posterior(annotations, np.eye(3)[[0, 0, 2, 1]], smoothing=0.0)
    np.testing.assert_array_equal(confusion[0], [[0, 1, 0], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(confusion[1], np.eye(3))


def test_a_silent_annotator_is_even() -> None:
    annotations = Annotations.from_matrix([[0, -1], [1, -1]], classes=2)
    for smoothing in (0.0, 0.5):
        confusion = confusion_from_posterior(annotations, np.eye(2), smoothing)
        np.testing.assert_array_equal(confusion[1], np.full((2, 2), 0.5))


def test_what_was_never_seen_is_rare_rather_than_impossible() -> None:
    annotations = Annotations.from_matrix([[0]] * 10 + [[1]] * 10, classes=2)
    confusion = confusion_from_posterior(annotations, np.eye(2)[[0] * 10 + [1] * 10])
    np.testing.assert_allclose(confusion[0], [[10.01 / 10.02, 0.01 / 10.02], [0.01 / 10.02, 10.01 / 10.02]])


def test_no_labels_at_all() -> None:
    annotations = Annotations.from_matrix([[-1, -1]] * 3, classes=2)
    np.testing.assert_array_equal(confusion_from_posterior(annotations, np.full((3, 2), 0.5)), np.full((2, 2, 2), 0.5))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sums_become_one_along_any_axis_and_what_was_never_counted_is_even(axis: int) -> None:
    counts = np.random.default_rng(0).random((3, 4, 5))
    np.testing.assert_allclose(rows_to_one(counts, axis) * counts.sum(axis, keepdims=True), counts)
    never = np.moveaxis(counts, axis, -1)
    never[1, 2] = 0
    probs = np.moveaxis(rows_to_one(counts, axis), axis, -1)
    np.testing.assert_allclose(probs.sum(-1), 1)
    assert (probs[1, 2] == 1 / counts.shape[axis]).all()


def test_a_result_is_frozen() -> None:
    fused = Fused(np.eye(2), np.arange(2), np.eye(2)[None], np.full(2, 0.5), None, True)
    with pytest.raises(FrozenInstanceError):
        fused.evidence = 0.0  # type: ignore[misc]
