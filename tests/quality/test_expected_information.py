from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from truelabel.quality.expected_information import CHUNK, conditional_information, expected_information

Array = NDArray[np.float64]


def entropy(probs: Array) -> float:
    return float(-sum(p * math.log2(p) for p in probs if p > 0))


def slow(posterior: Array, confusion: Array) -> Array:
    """H(q) less the mean, over answers, of the entropy after the answer: Bayes' rule for each."""
    gains = np.zeros((len(posterior), len(confusion)))
    for n, q in enumerate(posterior):
        for r, matrix in enumerate(confusion):
            after = 0.0
            for j in range(len(q)):
                joint = [q[k] * matrix[k, j] for k in range(len(q))]
                if sum(joint) > 0:
                    after += sum(joint) * entropy(np.array(joint) / sum(joint))
            gains[n, r] = entropy(q) - after
    return gains


def beliefs(seed: int, n: int = 6, r: int = 4, k: int = 3, sharpness: float = 0.5) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(k, sharpness), n), rng.dirichlet(np.full(k, sharpness), (r, k))


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from([0.01, 0.3, 3.0]))
def test_it_is_what_the_entropy_falls_by(seed: int, classes: int, sharpness: float) -> None:
    q, confusion = beliefs(seed, k=classes, sharpness=sharpness)
    gains = expected_information(q, confusion)
    np.testing.assert_allclose(gains, slow(q, confusion), atol=1e-12)
    assert (gains >= 0).all()
    assert (gains <= np.array([[entropy(row)] for row in q]) + 1e-12).all()


def test_one_who_guesses_tells_nothing_whatever_the_habit() -> None:
    q, _ = beliefs(0)
    habits = np.random.default_rng(1).dirichlet(np.ones(3), 5)
    spammers = np.repeat(habits[:, None], 3, axis=1)
    np.testing.assert_allclose(expected_information(q, spammers), 0, atol=1e-14)


def test_one_who_is_never_wrong_tells_all_and_so_does_one_who_always_lies_alike() -> None:
    q, _ = beliefs(0)
    certain = np.stack([np.eye(3), np.roll(np.eye(3), 1, axis=1)])
    doubt = np.array([entropy(row) for row in q])
    np.testing.assert_allclose(expected_information(q, certain), np.column_stack([doubt, doubt]), atol=1e-12)


def test_nothing_is_left_to_tell_of_what_is_known() -> None:
    _, confusion = beliefs(0)
    assert (expected_information(np.eye(3), confusion) == 0).all()


def test_a_noisier_copy_tells_less() -> None:
    """The data-processing inequality: whoever garbles what another says knows no more than the other."""
    q, confusion = beliefs(3)
    _, garbling = beliefs(4, r=1)
    assert (expected_information(q, confusion @ garbling[0]) <= expected_information(q, confusion) + 1e-12).all()


def test_rows_of_a_joint_are_weighted() -> None:
    q, confusion = beliefs(5)
    weights = np.array([0.1, 0.2, 0.3, 0.15, 0.15, 0.1])
    found = conditional_information(q * weights[:, None], confusion)
    np.testing.assert_allclose(found, weights[:, None] * slow(q, confusion), atol=1e-12)


def test_single_precision_is_made_to_sum_to_one() -> None:
    q, confusion = beliefs(6, k=5)
    found = expected_information(q.astype(np.float32) * np.float32(1.001), confusion)
    np.testing.assert_allclose(found, slow(q, confusion), atol=1e-5)


def test_pieces_are_put_together_and_memory_is_that_of_the_result() -> None:
    q, confusion = beliefs(7, n=40_000, r=20, k=10)
    assert len(q) * confusion[..., 0].size > 2 * CHUNK
    tracemalloc.start()
    found = expected_information(q, confusion)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < found.nbytes + q.nbytes + 8 * 4 * CHUNK  # all answers at once would be 64 MB
    some = np.random.default_rng(0).choice(len(q), 50, replace=False)
    np.testing.assert_allclose(found[some], slow(q[some], confusion), atol=1e-12)


@pytest.mark.parametrize(
    ("posterior", "confusion", "message"),
    [
        ([0.5, 0.5], [np.eye(2)], "posterior must be (examples, classes), got shape (2,)"),
        ([[0.5, 0.5]], np.eye(2), "confusion must be (annotators, 2, 2) for 2 classes, got shape (2, 2)"),
        ([[0.5, 0.5]], np.empty((0, 2, 2)), "confusion must be (annotators, 2, 2) for 2 classes, got shape (0, 2, 2)"),
        ([[0.5, 0.5]], [np.eye(3)], "confusion must be (annotators, 2, 2) for 2 classes, got shape (1, 3, 3)"),
        ([[1.0, 2.0]], [np.eye(2)], "posterior must hold probabilities that sum to one in every row"),
        ([[float("nan"), 1.0]], [np.eye(2)], "posterior must hold probabilities that sum to one in every row"),
        ([[-0.5, 1.5]], [np.eye(2)], "posterior must hold probabilities that sum to one in every row"),
        ([[0.5, 0.5]], [3 * np.eye(2)], "confusion must hold probabilities that sum to one in every row"),
    ],
)
def test_what_is_no_belief_is_refused(posterior: object, confusion: object, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        expected_information(posterior, confusion)  # type: ignore[arg-type]
