"""What fusing labels gives, and the confusion that follows from any belief about the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations
from truelabel.fusion.kernels import Array, Votes
from truelabel.fusion.mask_counts import mask_counts

SMOOTHING = 0.01
"""Pseudo-count per cell of a confusion matrix, so that what was never seen is rare rather than impossible."""


@dataclass(frozen=True, eq=False)
class Fused:
    """One answer from many, without a network.

    Attributes:
        posterior: ``(N, K)``, probability of each class; the prior where nobody labelled. For the masks of one image
            ``(*space, K)``, of many images ``(N, *space, K)``, both in float32.
        labels: ``(N,)``, ``(*space)`` or ``(N, *space)``: positions of the consensus class. In masks -1 is a voxel
            without one.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``, rows sum to one.
        prior: ``(K,)``; for masks with a prior for each voxel ``(*space, K)``.
        evidence: log p(labels) at these parameters, plus the log density of their prior relative to its value at
            even probabilities where the method has one; None where it has no model at all. The method says which.
        converged: whether the iteration reached its tolerance; True for methods that do not iterate.
        history: the evidence after every iteration; it never falls. Empty for methods that do not iterate.

    Example:
        >>> from truelabel.fusion import majority_vote
        >>> majority_vote(Annotations.from_matrix([[0, 0, 1], [1, 1, 1]])).posterior.round(2)
        array([[0.67, 0.33],
               [0.  , 1.  ]])
    """

    posterior: NDArray[np.floating[Any]]
    labels: NDArray[np.integer[Any]]
    confusion: Array
    prior: NDArray[np.floating[Any]]
    evidence: float | None
    converged: bool
    history: tuple[float, ...] = ()


def expected_counts(annotations: Annotations, posterior: Array) -> Array:
    r"""How often each annotator is expected to have said j where k is true: soft counts, not normalised.

    .. math:: C^{(r)}[k, j] = \sum_n q_{nk}\, 1[\tilde y^{(r)}_n = j]

    Cost follows the number of labels given, times K.

    Args:
        annotations: what was said.
        posterior: ``(N, K)``, q.

    Returns:
        ``(R, K, K)``, ``[annotator, true, observed]``; its sum is the number of labels.

    Example:
        >>> annotations = Annotations.from_matrix([[0, 1], [1, 1]])
        >>> expected_counts(annotations, np.array([[0.5, 0.5], [0.0, 1.0]]))[1]
        array([[0. , 0.5],
               [0. , 1.5]])
    """
    votes = Votes(annotations)
    if posterior.shape != (votes.examples, votes.classes):
        raise ValueError(f"posterior must be {(votes.examples, votes.classes)}, got {posterior.shape}")
    counts = np.zeros((votes.cells, votes.classes))
    for chunk in votes.chunks:
        counts += chunk.votes.T @ np.ascontiguousarray(posterior[chunk.rows], np.float64)
    return by_annotator(counts)


def by_annotator(cells: Array) -> Array:
    """A table of cells, ``(R * K, K)`` with the true class last, as ``(R, K, K)``, ``[annotator, true, observed]``."""
    k = cells.shape[1]
    return np.ascontiguousarray(cells.reshape(-1, k, k).swapaxes(1, 2))


def by_cell(tables: Array) -> Array:
    """The inverse of :func:`by_annotator`."""
    k = tables.shape[-1]
    return np.ascontiguousarray(tables.swapaxes(1, 2)).reshape(-1, k)


def rows_to_one(counts: Array, axis: int = -1) -> Array:
    """Divide by the sum over the last or another axis; what was never counted is even."""
    totals = counts.sum(axis, keepdims=True)
    if totals.all():
        probs: Array = counts / totals
        return probs
    even: Array = np.full_like(counts, 1 / counts.shape[axis])
    np.divide(counts, totals, out=even, where=totals > 0)
    return even


def confusion_from_posterior(annotations: Annotations, posterior: Array, smoothing: float = SMOOTHING) -> Array:
    r"""Each annotator's confusion, given how probable each class is for each example.

    .. math:: T^{(r)}[k, j] \propto \epsilon + \sum_n q_{nk}\, 1[\tilde y^{(r)}_n = j]

    Cost follows the number of labels given, times K.

    Args:
        annotations: what was said.
        posterior: ``(N, K)``, q; for masks ``(N, *space, K)``, and pixels are counted.
        smoothing: the pseudo-count ε.

    Returns:
        ``(R, K, K)``, ``[annotator, true, observed]``.

    Example:
        >>> annotations = Annotations.from_matrix([[0, 1], [1, 1]])
        >>> confusion_from_posterior(annotations, np.eye(2), smoothing=0.0)[1]
        array([[0., 1.],
               [0., 1.]])
    """
    count = mask_counts if annotations.space else expected_counts
    return rows_to_one(count(annotations, posterior) + smoothing)
