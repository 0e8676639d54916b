"""One-coin: one skill per annotator."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from truelabel.annotations import Annotations
from truelabel.fusion.em import Stopping, check_shared, pooled, warn_of_single_labels
from truelabel.fusion.fused import SMOOTHING, Fused, rows_to_one
from truelabel.fusion.kernels import Array, Votes
from truelabel.fusion.right_or_wrong import Expected, diagonal_confusion, expect_hits, vote_hits

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Skills(NamedTuple):
    """What is learned: ``right (R,)``, ``wrong (R,)``, which is 1 - right without its rounding, and ``prior (K,)``."""

    right: Array
    wrong: Array
    prior: Array


def one_coin(
    annotations: Annotations,
    *,
    smoothing: float = SMOOTHING,
    tolerance: float = 1e-5,
    max_iterations: int = 300,
    fabric: Fabric | None = None,
) -> Fused:
    r"""One skill for every annotator, who names each wrong class equally often, by EM.

    .. math:: T^{(r)}[k, j] = p_r \text{ if } j = k, \text{ else } \frac{1 - p_r}{K - 1}, \qquad
        p_r = \frac{K \epsilon + \sum_n q_{n \tilde y^{(r)}_n}}{K^2 \epsilon + \sum_n 1[\tilde y^{(r)}_n \text{ given}]}

    It is :func:`dawid_skene` with matrices of this form: the same start, posterior, class prior and *evidence*, to
    which each annotator has one parameter instead of K (K - 1). So it needs fewer labels per annotator, and cannot see
    who mixes up which classes. An annotator without labels gets even rows. Ties go to the lowest class. Cost: labels
    for each iteration, whatever K.

    Reference: the "homogeneous Dawid–Skene" model of Li and Yu 2014, "Error rate bounds and iterative weighted majority
    voting for crowdsourcing". Differs from it: pseudo-counts.

    Args:
        annotations: what was said; with several processes, this one's share of the examples, by the same annotators
            and of the same classes everywhere.
        smoothing: the pseudo-count ε per cell of the confusion matrix, above 0.
        tolerance: stop once an iteration raises the evidence by no more than this for each label given.
        max_iterations: stop then in any case, with a warning.
        fabric: sums counts over its processes, so that all find what one process with all labels would.

    Returns:
        :class:`Fused`, whose posterior and labels are those of ``annotations``.

    Example:
        >>> fused = one_coin(Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [2, 2, 2], [1, 1, -1], [0, 0, 0]]))
        >>> fused.labels
        array([0, 1, 2, 1, 0])
        >>> fused.confusion[2].round(2)
        array([[0.5 , 0.25, 0.25],
               [0.25, 0.5 , 0.25],
               [0.25, 0.25, 0.5 ]])
    """
    stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations)
    require_positive("smoothing", smoothing)
    votes = Votes(annotations)
    check_shared(fabric, annotations)
    warn_of_single_labels("one_coin", votes, fabric)
    k = votes.classes
    (counts,) = pooled(fabric, votes.label_counts())
    posterior = np.empty((votes.examples, k))

    def maximise(expected: Expected) -> Skills:
        right = expected.hits.sum(-1)
        wrong = np.maximum(counts.sum(-1) - right, 0) + k * (k - 1) * smoothing
        right = right + k * smoothing
        return Skills(right / (right + wrong), wrong / (right + wrong), rows_to_one(expected.shares))

    def step(skills: Skills) -> tuple[float, Skills]:
        log_right = np.log(skills.right)
        log_wrong = np.log(skills.wrong / (k - 1)) if k > 1 else np.zeros_like(log_right)
        wide = np.ones((1, k))
        expected = expect_hits(
            votes, counts, log_right[:, None] * wide, log_wrong[:, None] * wide, skills.prior, posterior, fabric
        )
        cells = k * (log_right + np.log(k)) + k * (k - 1) * (log_wrong + np.log(k))
        return expected.evidence + smoothing * float(cells.sum()), maximise(expected)

    climb = stopping.climb(step, maximise(vote_hits(votes, fabric)), float(counts.sum()))
    stopping.warn("one_coin", climb, float(counts.sum()))
    confusion = diagonal_confusion(climb.parameters.right, k)
    return Fused(
        posterior,
        posterior.argmax(-1),
        confusion,
        climb.parameters.prior,
        climb.history[-1],
        climb.converged,
        climb.history,
    )


def require_positive(name: str, value: float) -> None:
    """Raise a one-line error unless ``value`` is above zero."""
    if not value > 0:
        raise ValueError(f"{name} must be above 0, got {value!r}")
