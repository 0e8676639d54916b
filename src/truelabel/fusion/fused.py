"""What fusing labels gives, and the confusion that follows from any belief about the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations

Array = NDArray[np.float64]

SMOOTHING = 0.01
"""Pseudo-count per cell of a confusion matrix, so that what was never seen is rare rather than impossible."""


@dataclass(frozen=True, eq=False)
class Fused:
    """One answer from many, without a network.

    Attributes:
        posterior: ``(N, K)``, probability of each class; the prior where nobody labelled.
        labels: ``(N,)`` positions of the consensus class.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``, rows sum to one.
        prior: ``(K,)``.
        evidence: log p(labels) under the model, or None where the method has none.
        converged: whether the iteration reached its tolerance; True for methods that do not iterate.

    Example:
        >>> from truelabel.fusion import majority_vote
        >>> majority_vote(Annotations.from_matrix([[0, 0, 1], [1, 1, 1]])).posterior.round(2)
        array([[0.67, 0.33],
               [0.  , 1.  ]])
    """

    posterior: Array
    labels: NDArray[np.int64]
    confusion: Array
    prior: Array
    evidence: float | None
    converged: bool


def confusion_from_posterior(annotations: Annotations, posterior: Array, smoothing: float = SMOOTHING) -> Array:
    r"""Each annotator's confusion, given how probable each class is for each example.

    .. math:: T^{(r)}[k, j] \propto \epsilon + \sum_n q_{nk}\, 1[\tilde y^{(r)}_n = j]

    Cost follows the number of labels given, times K.

    Args:
        annotations: what was said.
        posterior: ``(N, K)``, q.
        smoothing: the pseudo-count ε.

    Returns:
        ``(R, K, K)``, ``[annotator, true, observed]``.

    Example:
        >>> annotations = Annotations.from_matrix([[0, 1], [1, 1]])
        >>> confusion_from_posterior(annotations, np.eye(2), smoothing=0.0)[1]
        array([[0., 1.],
               [0., 1.]])
    """
    from scipy.sparse import csr_array

    r, k, n = len(annotations.annotators), len(annotations.classes), len(annotations.examples)
    cell = annotations.annotator.astype(np.int64) * k + annotations.label
    votes = csr_array((np.ones(annotations.size), (cell, annotations.example)), shape=(r * k, n))
    counts = (votes @ posterior).reshape(r, k, k).swapaxes(1, 2) + smoothing
    totals = counts.sum(-1, keepdims=True)
    confusion: Array = np.divide(counts, totals, out=np.full_like(counts, 1 / k), where=totals > 0)
    return confusion
