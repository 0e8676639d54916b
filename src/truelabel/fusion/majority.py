"""Majority vote."""

from __future__ import annotations

from typing import Literal

import numpy as np

from truelabel.annotations import Annotations
from truelabel.fusion.fused import Fused, confusion_from_posterior

Ties = Literal["random", "lowest"]


def majority_vote(annotations: Annotations, *, ties: Ties = "random", seed: int = 0) -> Fused:
    r"""The class that most annotators named; the posterior is the share of votes.

    .. math:: q_{nk} = \frac{\sum_r 1[\tilde y^{(r)}_n = k]}{\sum_r 1[\tilde y^{(r)}_n \text{ given}]}

    An example that nobody labelled gets the mean vote of the others as its posterior.

    Args:
        annotations: what was said about N examples by R annotators.
        ties: "random" (drawn from ``seed``, the same for the same seed) or the "lowest" class.
        seed: for ties.

    Returns:
        :class:`Fused` with the confusion that the vote shares imply.

    Example:
        >>> fused = majority_vote(Annotations.from_matrix([["cat", "dog", "cat"], ["dog", "dog", None]]))
        >>> fused.labels
        array([0, 1])
    """
    if ties not in ("random", "lowest"):
        raise ValueError(f"ties must be 'random' or 'lowest', got {ties!r}")
    counts = annotations.vote_counts()
    given = counts.sum(-1, keepdims=True)
    votes = np.divide(counts, given, out=np.zeros(counts.shape), where=given > 0)
    labelled = given[:, 0] > 0
    k = counts.shape[1]
    prior = votes[labelled].mean(0) if labelled.any() else np.full(k, 1 / k)
    posterior = np.where(given > 0, votes, prior)
    labels = posterior.argmax(-1)
    if ties == "random":
        tied = np.flatnonzero((posterior == posterior.max(-1, keepdims=True)).sum(-1) > 1)
        lots = np.random.default_rng(seed).random((len(tied), k))
        best = posterior[tied] == posterior[tied].max(-1, keepdims=True)
        labels[tied] = np.where(best, lots, -1.0).argmax(-1)
    return Fused(posterior, labels, confusion_from_posterior(annotations, posterior), prior, None, True)
