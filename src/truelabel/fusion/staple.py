"""STAPLE: one mask from several readers, and how each of them errs."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.annotations import label_type
from truelabel.checks import check_flag
from truelabel.fusion.em import Stopping
from truelabel.fusion.fused import Fused, rows_to_one
from truelabel.fusion.kernels import Array, Integers, normalise, to_probabilities
from truelabel.fusion.masks import Masks, Ties, check_ties, decide
from truelabel.fusion.patterns import BLOCK, Patterns, sum_by
from truelabel.types import MISSING

TINY = 1e-300
"""What never happened is taken for barely possible, so that no logarithm is infinite."""

ALMOST = 0.99999
"""How often readers are right whom nothing is known of yet (Warfield 2004)."""

Start = Literal["perfect", "majority"]
"""What EM starts from: readers who are almost always right, or the class that most of them name."""

Expect = Callable[[Array], tuple[float, Array]]
"""An E-step: log likelihoods ``(P, K)`` of the patterns to the evidence and the summed posterior of their voxels."""


def staple(
    masks: ArrayLike,
    *,
    classes: int | None = None,
    prior: ArrayLike | None = None,
    disputed_only: bool = False,
    start: Start = "perfect",
    ties: Ties = "lowest",
    tolerance: float = 1e-12,
    max_iterations: int = 10_000,
) -> Fused:
    r"""A confusion matrix for every reader of one image, by EM over its voxels (Warfield, Zou and Wells 2004).

    .. math::
        W_{ik} \propto \pi_k \prod_{r} T^{(r)}[k, D_{ri}], \qquad
        T^{(r)}[k, j] \propto \sum_{i : D_{ri} = j} W_{ik}

    D are the masks, W is the posterior; products and sums run over labels given. With two classes, T[1, 1] is the
    sensitivity of a reader and T[0, 0] the specificity. The prior π stays as it is. It works in log space and finds a
    maximum of the evidence

    .. math:: \sum_i \log \sum_k \pi_k \prod_r T^{(r)}[k, D_{ri}],

    which no iteration lowers. What never happened is taken for barely possible, so a blank reader does no harm. Voxels
    with the same votes share a posterior, so that an iteration costs as much as there are different patterns of votes,
    whatever the size of the image.

    **Alone.** Nothing tells how a reader errs who shares no voxel with another: whatever they said, a matrix can be
    found that makes it follow from the prior. They are taken at their word: their matrix is the identity and stays so,
    and their labels come back as they are. If there are other readers, a warning names them. Groups of readers who
    share voxels among themselves only are each judged by their own, but with one prior.

    **Ties and gaps.** Classes whose probabilities differ by less than 1e-6 are tied, and ``ties`` decides. A voxel that
    nobody labelled has the prior as its posterior and -1 as its label. A reader of whom nothing is known, because they
    gave no label or a class has no voxel, gets even rows.

    Differs from the paper: any number of classes, as in Rohlfing, Russakoff and Maurer 2004; no Markov random field.

    Args:
        masks: ``(R, *space)`` integers or booleans; -1 or NaN is a voxel that the reader did not label, and a reader
            without labels is absent.
        classes: K; the largest label plus one, and at least two, by default.
        prior: ``(K,)``, or ``(*space, K)`` for a prior of its own at each voxel; rows are divided by their sum. By
            default the frequencies of the labels of all readers.
        disputed_only: fit the confusion, and the default prior, on voxels of which readers differ; others keep the
            label that they agree on. Where all agree on a large background, every specificity nears one, so that
            whoever draws more than others is believed; then the mask depends on how much background was cut off.
        start: "perfect" readers, right with probability 0.99999, or the "majority" vote, with tied voxels left aside.
            The majority makes impossible at once, and for good, what no reader does against it. ITK's filter for
            several labels starts there; where EM has several maxima, this one is the nearest to its masks.
        ties: give tied classes to the "lowest" or the "highest" of them (with two classes, "highest" is W ≥ 0.5), or
            leave them "missing", -1.
        tolerance: stop once an iteration raises the evidence by no more than this for each label given.
        max_iterations: stop then in any case, with a warning.

    Returns:
        :class:`Fused` with posterior ``(*space, K)`` in float32, labels ``(*space)``, confusion ``(R, K, K)`` and the
        prior that was used.

    Example:
        >>> large, exact, small = np.zeros((3, 6, 6), int)
        >>> large[:5, :5], exact[1:5, 1:5], small[2:4, 2:4] = 1, 1, 1
        >>> fused = staple([large, exact, exact, small])
        >>> bool((fused.labels == exact).all())
        True
        >>> fused.confusion[:, 1, 1].round(2), fused.confusion[:, 0, 0].round(2)
        (array([1.  , 1.  , 1.  , 0.25]), array([0.55, 1.  , 1.  , 1.  ]))
    """
    stopping = Stopping(tolerance=tolerance, max_iterations=max_iterations)
    check_ties(ties)
    check_flag("disputed_only", disputed_only)
    if start not in ("perfect", "majority"):
        raise ValueError(f"start must be 'perfect' or 'majority', got {start!r}")
    read = Masks.read(masks, classes)
    patterns = Patterns.find(read)
    readers, k = len(read.votes), read.classes
    used = patterns.disputed if disputed_only else patterns.given > 0
    counts = np.where(used, patterns.counts, 0.0)
    cells = patterns.cells()
    votes = (counts @ cells).reshape(readers, k)
    probs = rows_to_one(votes.sum(0)) if prior is None else _checked(prior, read)
    logs = np.log(np.maximum(probs, TINY))
    expect = _by_pattern(counts, logs) if logs.ndim == 1 else _by_voxel(patterns, used, logs)

    def likelihoods(confusion: Array) -> Array:
        table: Array = cells @ np.log(np.maximum(confusion, TINY)).reshape(-1, k)
        return table

    alone = _alone(patterns)

    def maximise(sums: Array) -> Array:
        confusion = rows_to_one((cells.T @ sums).reshape(readers, k, k), axis=1)
        confusion[alone] = np.eye(k)
        return confusion

    def step(confusion: Array) -> tuple[float, Array]:
        evidence, sums = expect(likelihoods(confusion))
        return evidence, maximise(sums)

    labels = float(votes.sum())
    first = _perfect(readers, k) if start == "perfect" else maximise(_majority(patterns.tallies(cells), counts))
    first[alone] = np.eye(k)
    climb = stopping.climb(step, first, labels)
    stopping.warn("staple", climb, labels)
    verdict = Verdict(patterns, likelihoods(climb.parameters), disputed_only, ties)
    posterior, found = verdict.everywhere(logs)
    return Fused(
        posterior.reshape(*read.space, k),
        found.reshape(read.space),
        np.ascontiguousarray(climb.parameters.swapaxes(1, 2)),
        probs.reshape(*read.space, k) if probs.ndim > 1 else probs,
        climb.history[-1],
        climb.converged,
        climb.history,
    )


def _perfect(readers: int, classes: int) -> Array:
    """Confusion ``(R, K, K)`` of readers who are almost always right."""
    one = np.full((classes, classes), (1 - ALMOST) / max(classes - 1, 1))
    np.fill_diagonal(one, ALMOST)
    return np.tile(one, (readers, 1, 1))


def _alone(patterns: Patterns) -> NDArray[np.bool_]:
    """Readers with labels who share no voxel with another: ``(R,)``; told of, unless there is one reader only."""
    given = patterns.votes >= 0
    present, shares = given.any(0), given[patterns.given > 1].any(0)
    alone = np.logical_and(present, ~shares)
    if alone.any() and present.sum() > 1:
        names = ", ".join(map(str, np.flatnonzero(alone)))
        warnings.warn(
            f"masks {names} share no voxel with another: they are taken as they are, since nothing tells how they err",
            UserWarning,
            stacklevel=3,
        )
    return alone


def _majority(tallies: Array, counts: Array) -> Array:
    """Voxels ``(P, K)`` of each pattern that most readers give to a class, those without a majority left aside.

    A class that has a majority nowhere starts at its shares of the votes.
    """
    first = tallies == tallies.max(-1, keepdims=True)
    voxels: Array = first * ((first.sum(-1) == 1) * counts)[:, None]
    never = ~voxels.any(0)
    if never.any():
        voxels[:, never] = (rows_to_one(tallies) * counts[:, None])[:, never]
    return voxels


def _by_pattern(counts: Array, log_prior: Array) -> Expect:
    """The E-step of voxels that share a prior."""
    weights = counts[:, None]

    def expect(logits: Array) -> tuple[float, Array]:
        logits += log_prior
        evidence = float(counts @ normalise(logits))
        logits *= weights
        return evidence, logits

    return expect


def _by_voxel(patterns: Patterns, used: NDArray[np.bool_], log_prior: Array) -> Expect:
    """The E-step of voxels with a ``log_prior (V, K)`` each."""
    rank = patterns.rank()
    if not used.all():
        where = np.flatnonzero(used[rank])
        rank, log_prior = rank[where], log_prior[where]
    size = len(used)
    step = max(BLOCK, size)

    def expect(logits: Array) -> tuple[float, Array]:
        evidence, sums = 0.0, np.zeros_like(logits)
        for first in range(0, len(rank), step):
            block = slice(first, first + step)
            probs = logits.take(rank[block], 0)
            probs += log_prior[block]
            evidence += to_probabilities(probs)
            sums += sum_by(rank[block], probs, size)
        return evidence, sums

    return expect


@dataclass(frozen=True, eq=False)
class Verdict:
    """What follows for each voxel from the log likelihoods of its pattern.

    Attributes:
        patterns: P of them.
        likelihoods: ``(P, K)``, log.
        keeps_agreed: whether voxels on which readers agree keep their label.
        ties: the rule for them.
    """

    patterns: Patterns
    likelihoods: Array
    keeps_agreed: bool
    ties: Ties

    def everywhere(self, log_prior: Array) -> tuple[NDArray[np.float32], Integers]:
        """Posterior ``(V, K)`` and labels ``(V,)``, given a prior ``(K,)`` or ``(V, K)``."""
        if log_prior.ndim == 1:
            probs, labels = self.of(np.arange(len(self.likelihoods)), log_prior)
            return self.patterns.spread(probs), self.patterns.spread(labels)
        rank = self.patterns.rank()
        posterior = np.empty(log_prior.shape, np.float32)
        labels = np.empty(len(rank), label_type(log_prior.shape[1]))
        for block in self.patterns.blocks():
            posterior[block], labels[block] = self.of(rank[block], log_prior[block])
        return posterior, labels

    def of(self, rank: Integers, log_prior: Array) -> tuple[NDArray[np.float32], Integers]:
        """Posterior ``(n, K)`` and labels ``(n,)`` of voxels whose patterns stand at ``rank (n,)``."""
        probs = self.likelihoods.take(rank, 0)
        probs += log_prior
        normalise(probs)
        if self.keeps_agreed:
            agreed = (~self.patterns.disputed & (self.patterns.given > 0))[rank]
            probs[agreed] = np.eye(probs.shape[1])[self.patterns.votes.max(-1)[rank[agreed]]]
        labels = decide(probs, self.ties)
        labels[(self.patterns.given == 0)[rank]] = MISSING
        return probs.astype(np.float32), labels


def _checked(prior: ArrayLike, masks: Masks) -> Array:
    """The prior ``(K,)`` or ``(V, K)`` with rows that sum to one."""
    probs = np.asarray(prior, np.float64)
    shapes = (masks.classes,), (*masks.space, masks.classes)
    if probs.shape not in shapes:
        raise ValueError(f"prior must be {shapes[0]} or {shapes[1]}, got shape {probs.shape}")
    totals = probs.sum(-1, keepdims=True)
    if not (np.isfinite(totals).all() and probs.min() >= 0 and totals.min() > 0):
        raise ValueError("prior must hold probabilities: numbers of at least 0, not all of a voxel's 0")
    rows: Array = probs / totals
    return rows.reshape(-1, masks.classes) if rows.ndim > 1 else rows
