"""GLAD: able annotators and easy examples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from truelabel.annotations import Annotations
from truelabel.fusion.em import Stopping, check_shared, pooled
from truelabel.fusion.fused import Fused
from truelabel.fusion.kernels import Array, Votes, sums_at, to_probabilities
from truelabel.fusion.right_or_wrong import diagonal_confusion

if TYPE_CHECKING:
    from lightning_fabric import Fabric

MEAN = 1.0
"""Mean of the prior of ability and of log easiness; the variance of both is 1."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GladFused(Fused):
    """What :func:`glad` gives.

    Attributes:
        ability: ``(R,)``, α; negative for those who are wrong more often than chance.
        easiness: ``(N,)``, β above 0; 1 / β is the difficulty.

    Example:
        >>> fused = glad(Annotations.from_matrix([[0, 0, 0], [1, 1, 1], [0, 0, 1]]))
        >>> fused.easiness.argmin(), fused.ability.argmin()
        (np.int64(2), np.int64(2))
    """

    ability: Array
    easiness: Array


class Traits(NamedTuple):
    """What is learned: ``ability (R,)`` and ``log_easiness (N,)``."""

    ability: Array
    log_easiness: Array


def glad(
    annotations: Annotations,
    *,
    tolerance: float = 1e-5,
    max_iterations: int = 1000,
    fabric: Fabric | None = None,
) -> GladFused:
    r"""An ability for every annotator and a difficulty for every example (Whitehill 2009), by EM.

    .. math:: p(\tilde y^{(r)}_n = y_n) = \sigma(\alpha_r \beta_n), \qquad
        \alpha_r \sim N(1, 1), \quad \log \beta_n \sim N(1, 1)

    Each wrong class is equally probable, and so is each class beforehand. The *evidence* is the log likelihood plus the
    log density of these priors, relative to their largest; no iteration lowers it. An M-step raises
    the quadratic lower bound :math:`\log \sigma(x) \ge x / 2 - \omega(\xi)\, x^2 / 2 + c`,
    :math:`\omega(\xi) = \tanh(\xi / 2) / 2 \xi`, of Jaakkola and Jordan 2000, first over each :math:`\beta_n`, then
    over each :math:`\alpha_r`. Ties go to the lowest class. Cost: labels for each iteration, whatever K.

    Differs from the paper: more than two classes; the bound instead of gradient ascent. ``confusion`` holds what the
    model says of the labels that each annotator gave: the mean of :math:`\sigma(\alpha_r \beta_n)` over them on the
    diagonal, the rest spread evenly; without labels, that of an annotator and an example of mean traits.

    Args:
        annotations: what was said; with several processes, this one's share of the examples, by the same annotators
            and of the same classes everywhere.
        tolerance: stop once an iteration raises the evidence by no more than this for each label given.
        max_iterations: stop then in any case, with a warning.
        fabric: sums over its processes, so that all find what one process with all labels would.

    Returns:
        :class:`GladFused`, whose posterior, labels and easiness are those of ``annotations``.

    Example:
        >>> fused = glad(Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, -1], [0, 0, 0]]))
        >>> fused.labels
        array([0, 1, 0, 1, 0])
    """
    from scipy.special import expit

    stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations)
    votes = Votes(annotations)
    check_shared(fabric, annotations)
    k, r = votes.classes, votes.annotators
    workload, labels = pooled(fabric, annotations.workload.astype(np.float64), votes.size)
    posterior = np.empty((votes.examples, k))
    skill = np.zeros(r)

    def step(traits: Traits) -> tuple[float, Traits]:
        odds = np.log(max(k - 1, 1))
        evidence, slope, curve, right = -odds * votes.size, np.zeros(r), np.zeros(r), np.zeros(r)
        log_easiness = np.empty_like(traits.log_easiness)
        for chunk in votes.chunks:
            own = traits.log_easiness[chunk.rows]
            row, place, ability = chunk.row, votes.place(chunk), traits.ability.take(chunk.annotator)
            margin = ability * np.exp(own).take(row)
            probs = sums_at(place, margin + odds, chunk.size * k).reshape(chunk.size, k)
            evidence -= softplus(margin).sum() + ((own - MEAN) ** 2).sum() / 2
            evidence += to_probabilities(probs) - chunk.size * np.log(k)
            posterior[chunk.rows] = probs
            pull = probs.take(place) - 0.5
            right += sums_at(chunk.annotator, expit(margin), r)
            own = climb_easiness(
                own,
                sums_at(row, pull * ability, chunk.size),
                sums_at(row, curvature(margin) * ability**2, chunk.size),
            )
            log_easiness[chunk.rows] = own
            easiness = np.exp(own).take(row)
            slope += sums_at(chunk.annotator, pull * easiness, r)
            curve += sums_at(chunk.annotator, curvature(ability * easiness) * easiness**2, r)
        total, slope, curve, skill[:] = pooled(fabric, evidence, slope, curve, right)
        evidence = float(total) - float(((traits.ability - MEAN) ** 2).sum()) / 2
        return evidence, Traits((slope + MEAN) / (curve + 1), log_easiness)

    climb = stopping.climb(step, Traits(np.full(r, MEAN), np.full(votes.examples, MEAN)), float(labels))
    stopping.warn("glad", climb, float(labels))
    ability, log_easiness = climb.parameters
    typical = np.full(r, expit(MEAN * np.exp(MEAN)))
    right = np.divide(skill, workload, out=typical, where=workload > 0)
    return GladFused(
        posterior,
        posterior.argmax(-1),
        diagonal_confusion(right, k),
        np.full(k, 1 / k),
        climb.history[-1],
        climb.converged,
        climb.history,
        ability=ability,
        easiness=np.exp(log_easiness),
    )


def softplus(x: Array) -> Array:
    """log(1 + exp(x)), without overflow."""
    values: Array = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return values


def curvature(x: Array) -> Array:
    """ω(x) = tanh(x / 2) / 2x, which is 1/4 at 0."""
    size = np.abs(x)
    small = np.exp(-size)
    values: Array = np.divide((1 - small) / (1 + small), 2 * size, out=np.full_like(size, 0.25), where=size > 1e-6)
    return values


def climb_easiness(log_easiness: Array, slope: Array, curve: Array, steps: int = 5) -> Array:
    """Raise g(b) = slope · e^b - curve · e^2b / 2 - (b - 1)² / 2 from where it stands; all ``(n,)``.

    Newton steps, halved wherever g would fall.
    """

    def height(b: Array) -> Array:
        easiness = np.exp(b)
        values: Array = slope * easiness - curve * easiness**2 / 2 - (b - MEAN) ** 2 / 2
        return values

    best, scale = height(log_easiness), np.ones_like(log_easiness)
    for _ in range(steps):
        easiness = np.exp(log_easiness)
        gradient = slope * easiness - curve * easiness**2 - (log_easiness - MEAN)
        bend = np.maximum(2 * curve * easiness**2 - slope * easiness, 0) + 1
        tried = log_easiness + scale * np.clip(gradient / bend, -1, 1)
        reached = height(tried)
        rises = reached >= best
        log_easiness, best = np.where(rises, tried, log_easiness), np.where(rises, reached, best)
        scale = np.where(rises, 1.0, scale / 4)
    return log_easiness
