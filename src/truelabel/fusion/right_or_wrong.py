"""The E-step of models where all that matters of a label is whether it is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from truelabel.fusion.em import pooled
from truelabel.fusion.kernels import Array, Votes, sums_at, to_probabilities

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Expected(NamedTuple):
    """What an E-step finds.

    Attributes:
        evidence: log likelihood of all labels.
        hits: ``(R, K)``, how many labels of each kind are expected to be right.
        shares: ``(K,)``, expected examples of each class, of those with labels.
    """

    evidence: float
    hits: Array
    shares: Array


def vote_hits(votes: Votes, fabric: Fabric | None) -> Expected:
    """The same if the posterior were the shares of votes, where EM starts; the evidence is not a number then."""
    hits, total = np.zeros(votes.cells), np.zeros(votes.classes)
    for chunk in votes.chunks:
        shares = votes.shares(chunk)
        hits += sums_at(chunk.cell, shares.take(votes.place(chunk)), votes.cells)
        total += shares.sum(0)
    hits, total = pooled(fabric, hits, total)
    return Expected(np.nan, hits.reshape(votes.annotators, votes.classes), total)


def expect_hits(
    votes: Votes,
    counts: Array,
    log_right: Array,
    log_wrong: Array,
    prior: Array,
    posterior: Array,
    fabric: Fabric | None,
) -> Expected:
    r"""Posterior and expected hits, if p(label | true) only depends on whether they are equal.

    .. math:: q_{nk} \propto \pi_k \prod_{r:\, \tilde y = k} \frac{p_r(\text{right})}{p_r(\text{wrong})}

    Args:
        votes: labels of this process.
        counts: ``(R, K)``, labels of each kind, in all processes.
        log_right: ``(R, K)``, log probability of a label that is right.
        log_wrong: ``(R, K)``, log probability of the label if another class is true.
        prior: ``(K,)``.
        posterior: ``(N, K)``, written to.
        fabric: sums over its processes.
    """
    gain = (log_right - log_wrong).ravel()
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
    evidence, hits, shares = 0.0, np.zeros(votes.cells), np.zeros(votes.classes)
    for chunk in votes.chunks:
        place = votes.place(chunk)
        probs = sums_at(place, gain.take(chunk.cell), chunk.size * votes.classes).reshape(chunk.size, votes.classes)
        probs += log_prior
        evidence += to_probabilities(probs)
        hits += sums_at(chunk.cell, probs.take(place), votes.cells)
        shares += chunk.labelled @ probs
        posterior[chunk.rows] = probs
    total, hits, shares = pooled(fabric, evidence, hits, shares)
    return Expected(float(total) + float((counts * log_wrong).sum()), hits.reshape(counts.shape), shares)


def diagonal_confusion(right: Array, classes: int) -> Array:
    """Confusion ``(R, K, K)`` of annotators who are right with probability ``right (R,)``, else anywhere else."""
    wrong = (1 - right) / max(classes - 1, 1)
    eye = np.eye(classes)
    confusion: Array = right[:, None, None] * eye + wrong[:, None, None] * (1 - eye)
    return confusion if classes > 1 else np.ones_like(confusion)
