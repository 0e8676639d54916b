"""How good predictions and estimated confusions are. Units without a label (-1) do not count."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.types import MISSING

_SUM_TOLERANCE = 1e-2
"""Half-precision probabilities of many classes sum to one within this; logits do not."""


def accuracy(predicted: ArrayLike, labels: ArrayLike) -> float:
    r"""Share of units whose predicted class is the label.

    .. math:: \frac{1}{n} \sum_{u: y_u \ne -1} 1[\hat y_u = y_u]

    Args:
        predicted: ``(*U,)`` classes, or ``(*U, K)`` probabilities, whose largest is taken (the first of equals).
        labels: ``(*U,)`` classes, -1 where there is none.

    Example:
        >>> accuracy([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]], [0, 0, -1])
        0.5
    """
    truth, given = _labels(labels)
    classes = np.asarray(predicted)
    if truth.shape not in (classes.shape, classes.shape[:-1]):
        raise ValueError(f"predicted {classes.shape} does not fit labels {truth.shape}")
    if classes.ndim > truth.ndim:
        if np.isnan(classes[given]).any():
            raise ValueError("predicted holds NaN, which names no class")
        classes = classes.argmax(-1)
    elif classes.dtype.kind not in "iub":
        raise ValueError(f"predicted must be probabilities (*U, K) or integers (*U,), got {classes.dtype} (*U,)")
    return float((classes == truth)[given].mean())


def log_likelihood(probs: ArrayLike, labels: ArrayLike) -> float:
    r"""Mean log probability of the labels; the noisy LL of Collier 2020 if they are noisy.

    .. math:: \frac{1}{n} \sum_{u: y_u \ne -1} \log p_u(y_u)

    Nothing is clipped: one label of probability zero makes it minus infinity. (scikit-learn's ``log_loss`` clips.)

    Args:
        probs: ``(*U, K)`` probabilities.
        labels: ``(*U,)`` classes, -1 where there is none.

    Example:
        >>> round(log_likelihood([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]], [0, 0, -1]), 4)
        -0.5108
    """
    p, y = _labelled(probs, labels)
    with np.errstate(divide="ignore"):
        return float(np.log(np.take_along_axis(p, y[:, None], -1)).mean())


def calibration_error(probs: ArrayLike, labels: ArrayLike, bins: int = 15) -> float:
    r"""Expected calibration error: how far confidence and accuracy lie apart (Guo 2017).

    .. math:: \sum_b \frac{n_b}{n} \, |\mathrm{accuracy}_b - \mathrm{confidence}_b|

    The confidence of a unit is its largest probability; bin b of B holds those in ((b-1)/B, b/B], all equally wide.
    torchmetrics closes its bins below, so that the confidence 1.0, common among overfitted networks, has a bin of its
    own; here, as in Guo 2017, it belongs to the last. Off the edges of bins the two agree.

    Args:
        probs: ``(*U, K)`` probabilities.
        labels: ``(*U,)`` classes, -1 where there is none.
        bins: B.

    Example:
        >>> round(calibration_error([[0.9, 0.1], [0.9, 0.1], [0.4, 0.6]], [0, 1, 1]), 4)
        0.4
    """
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    p, y = _labelled(probs, labels)
    confidence, correct = p.max(-1), p.argmax(-1) == y
    upper = np.linspace(0, 1, bins + 1)[1:-1]
    gap = np.bincount(np.digitize(confidence, upper, right=True), weights=correct - confidence)
    return float(np.abs(gap).sum() / len(y))


def confusion_error(estimated: ArrayLike, true: ArrayLike) -> float:
    r"""Mean squared error of confusion matrices, summed over a row (the CM error of Tanno 2019).

    .. math:: \frac{1}{R K} \sum_r \sum_{kj} (\hat T^{(r)}_{kj} - T^{(r)}_{kj})^2

    0 is best and 2 worst: all certain, and all wrong. (Tanno 2019 claims at most 1; its tables show hundredths.)

    Args:
        estimated: ``(R, K, K)``, or ``(K, K)`` for one annotator, ``[annotator, true, observed]``.
        true: of the same shape.

    Example:
        >>> confusion_error([[0.5, 0.5], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
        0.25
    """
    a, b = np.asarray(estimated, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if a.ndim not in (2, 3) or a.shape[-1] != a.shape[-2] or not a.size:
        raise ValueError(f"estimated must be (R, K, K) or (K, K), got {a.shape}")
    if a.shape != b.shape:
        raise ValueError(f"estimated {a.shape} and true {b.shape} differ in shape")
    return float(((a - b) ** 2).sum(-1).mean())


def _labels(labels: ArrayLike) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Labels, and which of them are given."""
    truth = np.asarray(labels)
    if truth.size and truth.dtype.kind not in "iub":
        raise ValueError(f"labels must be integers, got {truth.dtype}")
    given = truth != MISSING
    if not given.any():
        raise ValueError("there is no label to score against: all are missing")
    return truth, given


def _labelled(probs: ArrayLike, labels: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Probabilities ``(n, K)`` and labels ``(n,)`` of the units that have one."""
    truth, given = _labels(labels)
    p = np.asarray(probs, dtype=np.float64)
    if p.shape[:-1] != truth.shape or not p.ndim:
        raise ValueError(f"probs {p.shape} must be labels {truth.shape} and a class axis")
    p, y = p[given], truth[given].astype(np.int64)
    wrong = (y < 0) | (y >= p.shape[-1])
    if wrong.any():
        raise ValueError(f"label {y[wrong][0]} is outside 0..{p.shape[-1] - 1}, the classes of probs")
    if not (p >= 0).all() or not (np.abs(p.sum(-1) - 1) <= _SUM_TOLERANCE).all():
        raise ValueError("probs must be probabilities that sum to one over the last axis: pass logits through softmax")
    return p, y
