"""How much a further label is expected to tell about the true class."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

CHUNK = 2**20
"""Probabilities of answers that are held at a time: 8 MiB."""

_SUM_TOLERANCE = 1e-2
"""Single-precision probabilities of many classes sum to one within this; logits and counts do not."""


def expected_information(posterior: ArrayLike, confusion: ArrayLike) -> Array:
    r"""Mutual information of the true class and the label that an annotator would give, for every such pair.

    .. math::
        I(y; \tilde y_r) = H(q) - \sum_j p_r(j)\, H(q \mid \tilde y_r = j) = H(p_r) - \sum_k q_k H(T^{(r)}[k]), \qquad
        p_r(j) = \sum_k q_k T^{(r)}[k, j]

    The second form needs no posterior for every answer. It is never negative, 0 for one who guesses or where the class
    is known, and H(q) for one who is never wrong. Known as BALD (Houlsby 2011) with annotators in the place of
    parameters. Cost: examples times annotators times K². Memory beyond the result does not grow with the examples.

    Args:
        posterior: ``(N, K)``, q: what is known of the class, from inputs and from all labels given so far; see
            :func:`~truelabel.fusion.posterior_given`.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``.

    Returns:
        ``(N, R)``, in bits.

    Example:
        >>> perfect, guesses = np.eye(2), np.full((2, 2), 0.5)
        >>> expected_information([[0.5, 0.5], [0.9, 0.1]], [perfect, guesses]).round(2)
        array([[1.  , 0.  ],
               [0.47, 0.  ]])
    """
    q, matrices = check_beliefs(posterior, confusion)
    gains = np.empty((len(q), len(matrices)))
    step = max(1, CHUNK // max(1, matrices[..., 0].size))
    for start in range(0, len(q), step):
        gains[start : start + step] = conditional_information(q[start : start + step], matrices)
    return gains


def conditional_information(joint: Array, confusion: Array) -> Array:
    r"""Mutual information under each row of beliefs, times the probability of the row.

    .. math:: \sum_j h\big(\sum_k J_{bk} T^{(r)}[k, j]\big) - h(w_b) - \sum_k J_{bk} H(T^{(r)}[k]), \qquad
              h(p) = -p \log_2 p, \quad w_b = \sum_k J_{bk}

    With rows :math:`J_{bk} = p(b, y = k)` for every answer b that others may give first, the sum over b is what a label
    is expected to tell after theirs.

    Args:
        joint: ``(B, K)``, rows that sum to the probability of b; posteriors, if that is 1.
        confusion: ``(R, K, K)``.

    Returns:
        ``(B, R)``, in bits.

    Example:
        >>> conditional_information(np.array([[0.25, 0.25]]), np.eye(2)[None])
        array([[0.5]])
    """
    r, k = confusion.shape[:2]
    answers = joint @ confusion.swapaxes(0, 1).reshape(k, r * k)
    doubt = -_plogp(answers.reshape(-1, r, k))
    noise = joint @ -_plogp(confusion).T
    weight = -_plogp(joint.sum(-1, keepdims=True)[:, None])
    gains: Array = np.maximum(doubt - noise - weight, 0) / math.log(2)  # rounding may fall below zero
    return gains


def check_beliefs(posterior: ArrayLike, confusion: ArrayLike) -> tuple[Array, Array]:
    """Posterior and confusion as arrays whose rows sum to one, or a one-line ValueError."""
    q, matrices = np.asarray(posterior, np.float64), np.asarray(confusion, np.float64)
    if q.ndim != 2 or not q.shape[1]:
        raise ValueError(f"posterior must be (examples, classes), got shape {q.shape}")
    if matrices.ndim != 3 or not len(matrices) or matrices.shape[1:] != (q.shape[1], q.shape[1]):
        k = q.shape[1]
        raise ValueError(f"confusion must be (annotators, {k}, {k}) for {k} classes, got shape {matrices.shape}")
    return _rows_of_one(q, "posterior"), _rows_of_one(matrices, "confusion")


def _rows_of_one(probs: Array, name: str) -> Array:
    totals = probs.sum(-1, keepdims=True)
    if not (np.abs(totals - 1) <= _SUM_TOLERANCE).all() or not (probs >= 0).all():
        raise ValueError(f"{name} must hold probabilities that sum to one in every row: divide each row by its sum")
    normalised: Array = probs / totals
    return normalised


def _plogp(probs: Array) -> Array:
    """Sum over the last axis of p log p, in nats."""
    logs = np.log(np.maximum(probs, np.finfo(np.float64).tiny))
    sums: Array = np.einsum("...k,...k->...", probs, logs)
    return sums
