"""What labels say about the truth once annotators' confusion is known."""

from __future__ import annotations

import numpy as np

from truelabel.annotations import Annotations
from truelabel.fusion.fused import Array


def posterior_given(annotations: Annotations, prior: Array, confusion: Array) -> Array:
    r"""Bayes' rule over all labels of an example (the E-step of Dawid & Skene 1979 and Raykar 2009).

    .. math:: q_{nk} \propto \pi_{nk} \prod_{r : \tilde y^{(r)}_n \text{ given}} T^{(r)}[k, \tilde y^{(r)}_n]

    Args:
        annotations: what was said about N examples by R annotators.
        prior: ``(K,)``, or ``(N, K)`` such as a network's own answer.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``.

    Returns:
        ``(N, K)``; the prior where nobody labelled.

    Example:
        >>> annotations = Annotations.from_matrix([[0, 1], [1, 1]])
        >>> skilled = np.array([[0.9, 0.1], [0.1, 0.9]])
        >>> posterior_given(annotations, np.array([0.5, 0.5]), np.stack([skilled, skilled])).round(3)
        array([[0.5  , 0.5  ],
               [0.012, 0.988]])
    """
    from scipy.sparse import csr_array

    r, k, n = len(annotations.annotators), len(annotations.classes), len(annotations.examples)
    tiny = np.finfo(np.float64).tiny
    cell = annotations.annotator.astype(np.int64) * k + annotations.label
    said = csr_array((np.ones(annotations.size), (annotations.example, cell)), shape=(n, r * k))
    by_column = np.log(np.maximum(confusion, tiny)).swapaxes(1, 2).reshape(r * k, k)
    log_joint = np.log(np.maximum(prior, tiny)) + said @ by_column
    joint = np.exp(log_joint - log_joint.max(-1, keepdims=True))
    posterior: Array = joint / joint.sum(-1, keepdims=True)
    return posterior
