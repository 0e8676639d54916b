"""What is believed of the true class, given the input and all that was said about it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.annotations import Annotations, require_annotations

Array = NDArray[np.float64]

_CHUNK = 2**18
"""Numbers that are held at a time."""

_SUM_TOLERANCE = 1e-2
"""Half-precision probabilities of many classes sum to one within this; logits do not."""


def true_class_probs(
    annotations: Annotations, probs: ArrayLike, confusion: ArrayLike, group: ArrayLike | None = None
) -> Array:
    r"""Probability of each class being the true one, given the input and all labels of the example.

    .. math:: q_{nk} \propto p(y = k \mid x_n) \prod_{l:\, n_l = n} T^{(r_l)}[k, \tilde y_l]

    Annotators err independently of each other given the true class. Cost follows the number of labels times K.

    Args:
        annotations: what was said.
        probs: ``(N, K)``, p(y|x).
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``; or ``(G, R, K, K)``, several sets of matrices.
        group: ``(N,)``, which of the G sets is that of an example.

    Returns:
        ``(N, K)``; p(y|x) where nobody said anything, or only what the matrices hold impossible.

    Example:
        >>> annotations = Annotations.from_matrix([[0, 1], [1, 1]])
        >>> confusion = [[[0.9, 0.1], [0.1, 0.9]], [[0.6, 0.4], [0.4, 0.6]]]
        >>> true_class_probs(annotations, [[0.5, 0.5], [0.5, 0.5]], confusion).round(2)
        array([[0.86, 0.14],
               [0.07, 0.93]])
    """
    require_annotations(annotations)
    n, r, k = len(annotations.examples), len(annotations.annotators), len(annotations.classes)
    p, t = check_probs(probs, (n, k)), np.asarray(confusion, dtype=np.float64)
    if annotations.space:
        raise ValueError("annotations holds masks: use mask_regions")
    if t.shape[-3:] != (r, k, k) or t.ndim != (3 if group is None else 4):
        raise ValueError(f"confusion must be {(r, k, k)}, one matrix an annotator, got {t.shape}")
    with np.errstate(divide="ignore"):
        log_t = np.log(np.moveaxis(t if group is not None else t[None], 3, 2))  # [set, annotator, observed, true]
    sets = np.zeros(n, np.int64) if group is None else np.asarray(group)
    belief = np.empty((n, k))
    first = np.searchsorted(annotations.example, np.arange(n + 1))
    step = max(1, _CHUNK // k)
    for start in range(0, n, step):
        stop = min(start + step, n)
        own = slice(first[start], first[stop])
        who, said, rows = annotations.annotator[own], annotations.label[own], annotations.example[own]
        belief[start:stop] = _normalised(p[start:stop], log_t[sets[rows], who, said], rows - start)
    return belief


def _normalised(prior: Array, log_likelihoods: Array, rows: NDArray[Any]) -> Array:
    """``prior (n, K)`` times the likelihoods ``(l, K)`` of the labels of each row."""
    with np.errstate(divide="ignore"):
        joint = np.log(prior)
    np.add.at(joint, rows, log_likelihoods)
    top = joint.max(-1, keepdims=True)
    possible = np.isfinite(top)
    weights = np.exp(joint - np.where(possible, top, 0))
    found: Array = np.where(possible, weights / np.where(possible, weights.sum(-1, keepdims=True), 1), prior)
    return found


def label_quality(annotations: Annotations, belief: ArrayLike) -> Array:
    """Probability that each label is right: that of the class it names.

    Args:
        annotations: what was said.
        belief: ``(N, K)``, as of :func:`true_class_probs`; a label's own vote is part of it.

    Returns:
        ``(L,)``, in the order of the table of annotations.

    Example:
        >>> label_quality(Annotations.from_matrix([[0, 1]]), [[0.75, 0.25]]).tolist()
        [0.75, 0.25]
    """
    require_annotations(annotations)
    q = check_probs(belief, (len(annotations.examples), len(annotations.classes)), "belief")
    quality: Array = q[annotations.example, annotations.label]
    return quality


def check_probs(values: ArrayLike, shape: tuple[int, int], name: str = "probs") -> Array:
    """Probabilities of this shape as float64, or an error of one line."""
    p = np.asarray(values, dtype=np.float64)
    if p.shape != shape:
        raise ValueError(f"{name} must be {shape}, a row an example and a column a class, got {p.shape}")
    if not (p >= 0).all() or not (np.abs(p.sum(-1) - 1) <= _SUM_TOLERANCE).all():
        raise ValueError(f"{name} must be probabilities that sum to one in every row: pass logits through softmax")
    return p
