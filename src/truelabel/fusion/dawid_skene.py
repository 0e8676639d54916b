"""Dawid–Skene: a confusion matrix per annotator."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from truelabel.annotations import Annotations
from truelabel.fusion.em import Stopping, check_shared, pooled, warn_of_single_labels
from truelabel.fusion.fused import SMOOTHING, Fused, by_annotator, by_cell, rows_to_one
from truelabel.fusion.kernels import Array, Votes, to_probabilities

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Tables(NamedTuple):
    """What is learned: ``confusion (R, K, K)`` and ``prior (K,)``."""

    confusion: Array
    prior: Array


def dawid_skene(
    annotations: Annotations,
    *,
    smoothing: ArrayLike = SMOOTHING,
    tolerance: float = 1e-5,
    max_iterations: int = 300,
    fabric: Fabric | None = None,
) -> Fused:
    r"""A confusion matrix for every annotator and a share for every class, by EM (Dawid and Skene 1979).

    .. math::
        q_{nk} \propto \pi_k \prod_{r} T^{(r)}[k, \tilde y^{(r)}_n], \qquad
        T^{(r)}[k, j] \propto \epsilon + \sum_n q_{nk}\, 1[\tilde y^{(r)}_n = j], \qquad
        \pi_k \propto \sum_n q_{nk}

    The products run over labels given, the last sum over examples with labels. It starts at the shares of votes, works
    in log space, and finds a maximum of the *evidence*

    .. math:: \sum_n \log \sum_k \pi_k \prod_r T^{(r)}[k, \tilde y^{(r)}_n]
        + \sum_{r,k,j} \epsilon_{kj} \log \big(K\, T^{(r)}[k, j]\big),

    the log likelihood plus the log density of a Dirichlet prior on the rows of T, with parameters :math:`1 + \epsilon`,
    relative to its density at even rows. Silent annotators add nothing to it, and no iteration lowers it. Ties go to
    the lowest class. Cost: labels times K for each iteration.

    If no example has two labels, all confusions that mix to the same labels are equally likely, and pseudo-counts
    prefer even ones: it warns. Differs from the paper: pseudo-counts; with ``smoothing=0`` it is the paper's maximum
    likelihood.

    Args:
        annotations: what was said about N examples by R annotators; with several processes, this one's share of the
            examples, by the same annotators and of the same classes everywhere.
        smoothing: pseudo-counts ε of the confusion matrices: one number, or ``(K, K)``, ``[true, observed]``.
        tolerance: stop once an iteration raises the evidence by no more than this for each label given.
        max_iterations: stop then in any case, with a warning.
        fabric: sums counts over its processes, so that all find what one process with all labels would.

    Returns:
        :class:`Fused`, whose posterior and labels are those of ``annotations``.

    Example:
        >>> fused = dawid_skene(Annotations.from_matrix([[0, 0, 1], [1, 1, 0], [0, 0, 1], [1, 1, -1], [0, 0, 0]]))
        >>> fused.labels
        array([0, 1, 0, 1, 0])
        >>> fused.confusion[2].round(1)
        array([[0.3, 0.7],
               [1. , 0. ]])
    """
    stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations)
    votes = Votes(annotations)
    pseudo = _pseudo_counts(smoothing, votes.classes)
    check_shared(fabric, annotations)
    if pseudo.any():  # without pseudo-counts the labels come back as they are
        warn_of_single_labels("dawid_skene", votes, fabric)
    posterior = np.empty((votes.examples, votes.classes))
    labels = float(pooled(fabric, votes.size)[0])

    def maximise(counts: Array, total: Array) -> Tables:
        return Tables(rows_to_one(by_annotator(counts) + pseudo), rows_to_one(total))

    def step(tables: Tables) -> tuple[float, Tables]:
        with np.errstate(divide="ignore"):  # without pseudo-counts, what was never seen is impossible
            table, log_prior = by_cell(np.log(tables.confusion)), np.log(tables.prior)
        evidence, counts, total = 0.0, np.zeros_like(table), np.zeros_like(log_prior)
        for chunk in votes.chunks:
            probs = chunk.votes @ table
            probs += log_prior
            evidence += to_probabilities(probs)
            counts += chunk.votes.T @ probs
            total += chunk.labelled @ probs
            posterior[chunk.rows] = probs
        pooled_evidence, counts, total = pooled(fabric, evidence, counts, total)
        return float(pooled_evidence) + log_density(tables.confusion, pseudo), maximise(counts, total)

    counts, total = np.zeros((votes.cells, votes.classes)), np.zeros(votes.classes)
    for chunk in votes.chunks:
        shares = votes.shares(chunk)
        counts += chunk.votes.T @ shares
        total += shares.sum(0)
    climb = stopping.climb(step, maximise(*pooled(fabric, counts, total)), labels)
    stopping.warn("dawid_skene", climb, labels)
    return Fused(posterior, posterior.argmax(-1), *climb.parameters, climb.history[-1], climb.converged, climb.history)


def log_density(probs: Array, pseudo: ArrayLike) -> float:
    """Log density of a Dirichlet prior with parameters 1 + ``pseudo``, relative to that at even ``probs (..., K)``."""
    pseudo = np.broadcast_to(pseudo, probs.shape)
    logs = np.log(probs * probs.shape[-1], out=np.zeros_like(probs), where=pseudo > 0)
    return float((pseudo * logs).sum())


def _pseudo_counts(smoothing: ArrayLike, classes: int) -> Array:
    pseudo = np.asarray(smoothing, np.float64)
    if pseudo.shape not in ((), (classes, classes)):
        raise ValueError(f"smoothing must be a number or {(classes, classes)}, got shape {pseudo.shape}")
    if not (pseudo >= 0).all():
        raise ValueError(f"smoothing must be at least 0, got {pseudo.min()}")
    return pseudo
