from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import accuracy_score, log_loss
from torchmetrics.functional.classification import multiclass_calibration_error

from truelabel.corruption import hammer_spammers
from truelabel.metrics import accuracy, calibration_error, confusion_error, log_likelihood

Arrays = tuple[NDArray[np.float64], NDArray[np.int64]]


@pytest.fixture(params=[(50,), (4, 5, 6)], ids=["examples", "pixels"])
def scored(request: pytest.FixtureRequest) -> Arrays:
    """Probabilities of five classes and labels that agree with them now and then; every seventh is missing."""
    rng = np.random.default_rng(0)
    probs = rng.dirichlet(np.full(5, 0.4), request.param)
    labels = np.where(rng.random(request.param) < 0.6, probs.argmax(-1), rng.integers(0, 5, request.param))
    labels.reshape(-1)[::7] = -1
    return probs, labels


def flat(arrays: Arrays) -> Arrays:
    probs, labels = arrays
    return probs[labels >= 0], labels[labels >= 0]


def test_accuracy_is_that_of_scikit_learn(scored: Arrays) -> None:
    probs, labels = flat(scored)
    expected = accuracy_score(labels, probs.argmax(-1))
    assert 0.3 < expected < 0.9
    assert accuracy(*scored) == pytest.approx(expected)
    assert accuracy(scored[0].argmax(-1), scored[1]) == pytest.approx(expected)


def test_accuracy_by_hand() -> None:
    assert accuracy([0, 1, 2, 2], [0, 2, 2, -1]) == pytest.approx(2 / 3)
    assert accuracy([0, -1], [0, 1]) == 0.5
    assert accuracy([True, False], [True, True]) == 0.5
    assert accuracy([[0.5, 0.5]], [0]) == 1.0


def test_log_likelihood_is_that_of_scikit_learn(scored: Arrays) -> None:
    probs, labels = flat(scored)
    assert log_likelihood(*scored) == pytest.approx(-log_loss(labels, probs, labels=range(5)), rel=1e-6)


def test_log_likelihood_of_the_impossible_is_minus_infinity() -> None:
    assert log_likelihood([[1.0, 0.0], [0.5, 0.5]], [1, 0]) == -math.inf
    assert log_likelihood([[1.0, 0.0], [0.5, 0.5]], [0, -1]) == 0.0


def loop(probs: NDArray[np.float64], labels: NDArray[np.int64], bins: int) -> float:
    total = 0.0
    for b in range(bins):
        inside = [i for i, p in enumerate(probs) if b / bins < max(p) <= (b + 1) / bins]
        if inside:
            right = sum(probs[i].argmax() == labels[i] for i in inside) / len(inside)
            sure = sum(max(probs[i]) for i in inside) / len(inside)
            total += len(inside) / len(labels) * abs(right - sure)
    return total


@pytest.mark.parametrize("bins", [1, 2, 10, 15])
def test_calibration_error_follows_the_definition(scored: Arrays, bins: int) -> None:
    error = calibration_error(*scored, bins=bins)
    assert error == pytest.approx(loop(*flat(scored), bins))
    probs, labels = map(torch.from_numpy, flat(scored))
    theirs = multiclass_calibration_error(probs, labels, num_classes=5, n_bins=bins)
    assert error == pytest.approx(theirs.item())


def test_certainty_belongs_to_the_last_bin() -> None:
    probs, labels = np.array([[1.0, 0.0], [1.0, 0.0], [0.95, 0.05], [0.95, 0.05]]), np.array([0, 1, 0, 0])
    assert calibration_error(probs, labels, bins=10) == pytest.approx(0.975 - 0.75)
    assert calibration_error(probs, labels, bins=10) == pytest.approx(loop(probs, labels, 10))
    # In single precision certainty may exceed one.
    assert calibration_error(np.float32(1 + 1e-6) * probs, labels, bins=10) == pytest.approx(0.225, abs=1e-5)
    theirs = multiclass_calibration_error(torch.from_numpy(probs), torch.from_numpy(labels), num_classes=2, n_bins=10)
    assert theirs.item() == pytest.approx((0.5 + 0.05) / 2), "torchmetrics has changed: say so in the docstring"


def test_bins_are_closed_above() -> None:
    # 0.75 is in the third of four bins with 0.6, so that the two errors cancel.
    probs = [[0.75, 0.25], [0.6, 0.4], [0.75, 0.25]]
    labels = [0, 1, 0]
    assert calibration_error(probs, labels, bins=4) == pytest.approx(abs(2 - 2.1) / 3)


def test_who_is_as_sure_as_right_is_calibrated() -> None:
    assert calibration_error([[0.75, 0.25]] * 4, [0, 0, 0, 1]) == pytest.approx(0)
    assert calibration_error([[0.0, 1.0]] * 4, [0, 0, 0, 0]) == pytest.approx(1)


def test_confusion_error_of_a_derangement_is_two() -> None:
    eye = np.eye(5)
    assert confusion_error(eye, np.roll(eye, 1, -1)) == 2.0
    assert confusion_error(np.stack([eye, eye]), np.stack([eye, np.roll(eye, 2, -1)])) == 1.0
    assert confusion_error(eye, eye) == 0.0


def test_confusion_error_follows_its_sum() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.dirichlet(np.ones(4), (2, 3, 4))
    expected = sum((a[r, k, j] - b[r, k, j]) ** 2 for r in range(3) for k in range(4) for j in range(4)) / 12
    assert confusion_error(a, b) == pytest.approx(expected)
    assert confusion_error(a[0], b[0]) == pytest.approx(np.linalg.norm(a[0] - b[0]) ** 2 / 4)


def test_confusions_of_torch_are_taken() -> None:
    # A hammer taken for a spammer of ten classes: (0.9² + 9 · 0.1²) a row.
    assert confusion_error(hammer_spammers(10, [0.1]), hammer_spammers(10, [1.0])) == pytest.approx(0.9)


@pytest.mark.parametrize("score", [accuracy, log_likelihood, calibration_error])
def test_labels_that_cannot_be_scored_are_refused(score: Any) -> None:
    probs = [[0.5, 0.5], [0.2, 0.8]]
    with pytest.raises(ValueError, match="there is no label to score against"):
        score(probs, [-1, -1])
    with pytest.raises(ValueError, match="there is no label to score against"):
        score(np.zeros((0, 2)), [])
    with pytest.raises(ValueError, match="labels must be integers, got float64"):
        score(probs, [0.0, 1.0])
    for labels in ([0], [0, 1, 1], [[0, 1]]):
        with pytest.raises(ValueError, match="labels"):
            score(probs, labels)


@pytest.mark.parametrize("score", [log_likelihood, calibration_error])
def test_what_is_no_probability_is_refused(score: Any) -> None:
    for label in (2, -2):
        with pytest.raises(ValueError, match=rf"label {label} is outside 0\.\.1, the classes of probs"):
            score([[0.5, 0.5], [0.2, 0.8]], [0, label])
    for row in ([1.2, -0.2], [2.0, 3.0], [float("nan"), 1.0], [0.2, 0.2]):
        with pytest.raises(ValueError, match="probs must be probabilities that sum to one"):
            score([[0.5, 0.5], row], [0, 1])


def test_probabilities_of_missing_labels_do_not_matter() -> None:
    assert log_likelihood([[0.5, 0.5], [9.0, 9.0]], [0, -1]) == pytest.approx(-math.log(2))


def test_predictions_that_are_no_classes_are_refused() -> None:
    with pytest.raises(ValueError, match="predicted must be probabilities"):
        accuracy([0.2, 0.8], [0, 1])
    with pytest.raises(ValueError, match="predicted holds NaN"):
        accuracy([[0.2, float("nan")]], [0])


def test_one_bin_is_the_least() -> None:
    with pytest.raises(ValueError, match="bins must be at least 1, got 0"):
        calibration_error([[0.5, 0.5]], [0], bins=0)


@pytest.mark.parametrize(
    ("estimated", "true", "message"),
    [
        (np.eye(2)[0], np.eye(2)[0], r"estimated must be \(R, K, K\) or \(K, K\), got \(2,\)"),
        (np.ones((2, 3)), np.ones((2, 3)), r"got \(2, 3\)"),
        (np.zeros((0, 2, 2)), np.zeros((0, 2, 2)), r"got \(0, 2, 2\)"),
        (np.eye(2), np.eye(3), "differ in shape"),
        (np.eye(2)[None], np.eye(2), "differ in shape"),
    ],
)
def test_confusions_that_do_not_fit_are_refused(estimated: ArrayLike, true: ArrayLike, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        confusion_error(estimated, true)
