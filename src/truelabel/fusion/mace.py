"""MACE: who knows, and who only pretends to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from truelabel.annotations import Annotations
from truelabel.fusion.dawid_skene import log_density
from truelabel.fusion.em import Climb, Stopping, check_shared, pooled
from truelabel.fusion.fused import SMOOTHING, Fused, rows_to_one
from truelabel.fusion.kernels import Array, Votes
from truelabel.fusion.one_coin import require_positive
from truelabel.fusion.right_or_wrong import expect_hits, vote_hits

if TYPE_CHECKING:
    from lightning_fabric import Fabric


@dataclass(frozen=True, eq=False, kw_only=True)
class MaceFused(Fused):
    """What :func:`mace` gives.

    Attributes:
        competence: ``(R,)``, probability that the annotator knows the answer and gives it.
        strategy: ``(R, K)``, what the annotator says otherwise.

    Example:
        >>> fused = mace(Annotations.from_matrix([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1], [0, 0, 1]]))
        >>> fused.competence.round(1), fused.strategy[2].round(1)
        (array([1., 1., 0.]), array([0., 1.]))
    """

    competence: Array
    strategy: Array


class Crowd(NamedTuple):
    """What is learned: ``knows (R, 2)``, competence and its complement, and ``strategy (R, K)``."""

    knows: Array
    strategy: Array


def mace(
    annotations: Annotations,
    *,
    smoothing: float = SMOOTHING,
    restarts: int = 10,
    seed: int = 0,
    tolerance: float = 1e-5,
    max_iterations: int = 300,
    fabric: Fabric | None = None,
) -> MaceFused:
    r"""Annotators who know the answer, or else follow a strategy of their own (Hovy 2013), by EM.

    .. math:: T^{(r)}[k, j] = \theta_r\, 1[j = k] + (1 - \theta_r)\, \xi_{rj}, \qquad
        q_{nk} \propto \prod_r T^{(r)}[k, \tilde y^{(r)}_n]

    :math:`\theta_r` is the competence and :math:`\xi_r` the strategy, for instance always the same class. Classes are
    equally probable beforehand. The *evidence* is the log likelihood plus
    :math:`\sum_r \epsilon \log 4\theta_r(1-\theta_r) + \sum_{rj} \epsilon \log K \xi_{rj}`, the log density of
    Dirichlet priors relative to that at even probabilities; no iteration lowers it. Ties go to the lowest class. Cost:
    labels for each iteration and restart, whatever K.

    Differs from the paper: EM starts once at the shares of votes and then ``restarts - 1`` times at random, and a
    restart wins only if its evidence is higher by more than the tolerance, so that the answer seldom depends on the
    seed; it stops by the tolerance instead of after 50 iterations; pseudo-counts are the same for all parameters.

    Args:
        annotations: what was said; with several processes, this one's share of the examples, by the same annotators
            and of the same classes everywhere.
        smoothing: the pseudo-count ε of competence and strategy, above 0.
        restarts: how often to start; the best evidence counts.
        seed: of the random starts.
        tolerance: stop once an iteration raises the evidence by no more than this for each label given.
        max_iterations: of each start; stop then in any case, with a warning.
        fabric: sums counts over its processes, so that all find what one process with all labels would.

    Returns:
        :class:`MaceFused`, whose posterior and labels are those of ``annotations``.

    Example:
        >>> always_one = Annotations.from_matrix([[0, 0, 1], [1, 1, 1], [0, 0, 1], [1, 1, 1], [0, -1, 1]])
        >>> mace(always_one).labels
        array([0, 1, 0, 1, 0])
    """
    stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations)
    require_positive("smoothing", smoothing)
    if restarts < 1:
        raise ValueError(f"restarts must be at least 1, got {restarts!r}")
    votes = Votes(annotations)
    check_shared(fabric, annotations)
    (counts,) = pooled(fabric, votes.label_counts())
    k, workload, labels = votes.classes, counts.sum(-1), float(counts.sum())
    posterior = np.empty((votes.examples, k))
    prior = np.full(k, 1 / k)

    def step(crowd: Crowd) -> tuple[float, Crowd]:
        log_knows = np.log(crowd.knows)
        log_wrong = log_knows[:, 1:] + np.log(crowd.strategy)
        log_right = np.logaddexp(log_knows[:, :1], log_wrong)
        evidence, hits, _ = expect_hits(votes, counts, log_right, log_wrong, prior, posterior, fabric)
        known = hits * np.exp(log_knows[:, :1] - log_right)
        guessed = np.maximum(counts - known, 0)
        evidence += log_density(crowd.knows, smoothing) + log_density(crowd.strategy, smoothing)
        return evidence, Crowd(
            rows_to_one(np.stack([known.sum(-1), guessed.sum(-1)], -1) + smoothing), rows_to_one(guessed + smoothing)
        )

    def begin(restart: int) -> Crowd:
        if restart == 0:
            right = vote_hits(votes, fabric).hits.sum(-1)
            return Crowd(rows_to_one(np.stack([right, workload - right], -1) + 1), np.full(counts.shape, 1 / k))
        rng = np.random.default_rng([seed, restart])
        return Crowd(rng.dirichlet(np.ones(2), len(counts)), rng.dirichlet(np.ones(k), len(counts)))

    best: Climb[Crowd] | None = None
    for restart in range(restarts):
        climb = stopping.climb(step, begin(restart), labels)
        if best is None or climb.history[-1] > best.history[-1] + 10 * tolerance * labels:
            best = climb
    assert best is not None
    if restarts > 1:
        step(best.parameters)
    stopping.warn("mace", best, labels)
    knows, strategy = best.parameters
    confusion = knows[:, :1, None] * np.eye(k) + knows[:, 1:, None] * strategy[:, None, :]
    return MaceFused(
        posterior,
        posterior.argmax(-1),
        confusion,
        prior,
        best.history[-1],
        best.converged,
        best.history,
        competence=knows[:, 0],
        strategy=strategy,
    )
