"""What labels say about the truth once annotators' confusion is known."""

from __future__ import annotations

import numpy as np

from truelabel.annotations import Annotations
from truelabel.fusion.fused import by_cell
from truelabel.fusion.kernels import Array, Votes, to_probabilities


def posterior_given(annotations: Annotations, prior: Array, confusion: Array) -> Array:
    r"""Bayes' rule over all labels of an example (the E-step of Dawid & Skene 1979 and Raykar 2009).

    .. math:: q_{nk} \propto \pi_{nk} \prod_{r : \tilde y^{(r)}_n \text{ given}} T^{(r)}[k, \tilde y^{(r)}_n]

    Args:
        annotations: what was said about N examples by R annotators.
        prior: ``(K,)``, or ``(N, K)`` such as a network's own answer.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``; what is impossible is taken for barely possible.

    Returns:
        ``(N, K)``; the prior where nobody labelled.

    Example:
        >>> annotations = Annotations.from_matrix([[0, 1], [1, 1]])
        >>> skilled = np.array([[0.9, 0.1], [0.1, 0.9]])
        >>> posterior_given(annotations, np.array([0.5, 0.5]), np.stack([skilled, skilled])).round(3)
        array([[0.5  , 0.5  ],
               [0.012, 0.988]])
    """
    votes = Votes(annotations)
    shape = (votes.examples, votes.classes)
    if np.shape(prior) not in (shape, shape[1:]):
        raise ValueError(f"prior must be {shape[1:]} or {shape}, got {np.shape(prior)}")
    if confusion.shape != (votes.annotators, votes.classes, votes.classes):
        raise ValueError(f"confusion must be {(votes.annotators, votes.classes, votes.classes)}, got {confusion.shape}")
    tiny = np.finfo(np.float64).tiny
    table = by_cell(np.log(np.maximum(confusion, tiny)))
    posterior = np.log(np.maximum(np.broadcast_to(prior, shape), tiny))
    for chunk in votes.chunks:
        part = posterior[chunk.rows]
        part += chunk.votes @ table
        to_probabilities(part)
    return posterior
