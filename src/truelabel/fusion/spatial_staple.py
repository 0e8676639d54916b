"""Spatial STAPLE: readers whose skill differs from place to place."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.checks import check_amount, check_whole
from truelabel.fusion.fused import Fused, rows_to_one
from truelabel.fusion.kernels import Array
from truelabel.fusion.masks import Masks, Ties, check_ties, decide
from truelabel.fusion.staple import staple
from truelabel.types import MISSING

Floats = NDArray[np.float32]

SMALL, SHORT, LONG = 64, 11, 21
"""Up to this many voxels along every axis an image gets the short window, otherwise the long one."""

LEAST, MOST = 0.01, 0.99
"""What the prior of a voxel is kept between, because neighbours are no proof."""

RAREST = 1e-6
"""What the confusion at a voxel is kept above."""

RESTLESS = 1e-4
"""Share of voxels that may go on changing: a few on the edge of two classes do so for long, without effect."""

TOGETHER = 2**20
"""Numbers that are filtered at once; if one reader has more, one reader at a time."""


@dataclass(frozen=True, eq=False)
class SpatialFused(Fused):
    """One mask from readers whose confusion differs from voxel to voxel.

    ``confusion (R, K, K)`` is the mean of the local ones, weighted by the posterior, and ``prior (*space, K)`` what was
    taken for granted at each voxel.

    Attributes:
        overall: ``(R, K, K)``, what :func:`staple` finds and the local matrices are anchored to.
        window: voxels along each axis.
        anchor: weight of ``overall``, in windows full of voxels.
        masks: what was fused, not copied.

    Example:
        >>> masks = np.zeros((3, 6, 8), int)
        >>> masks[:, 2:4, 2:6] = 1
        >>> fused = spatial_staple(masks, window=3)
        >>> fused.confusion.shape, fused.local_confusion(0).shape
        ((3, 2, 2), (6, 8, 2, 2))
    """

    overall: Array = field(kw_only=True)
    window: tuple[int, ...] = field(kw_only=True)
    anchor: float = field(kw_only=True)
    masks: Masks = field(kw_only=True, repr=False)

    def local_confusion(self, reader: int) -> Floats:
        """One reader's confusion round every voxel: ``(*space, K, K)``, ``[..., true, observed]``, rows sum to one.

        Computed when asked for: those of all readers are R K² times as large as a mask.

        Args:
            reader: position among the R.
        """
        if not 0 <= reader < len(self.overall):
            raise ValueError(f"reader must be in 0..{len(self.overall) - 1}, got {reader!r}")
        some = slice(reader, reader + 1)
        alone = replace(self.masks, votes=self.masks.votes[some])
        windows = Windows(alone, self.overall[some], self.window, self.anchor)
        rows = [row[0] for _, _, _, row in windows.rows(np.moveaxis(self.posterior, -1, 0).astype(np.float32))]
        return np.moveaxis(np.stack(rows), (0, 1), (-2, -1))


def spatial_staple(
    masks: ArrayLike,
    *,
    classes: int | None = None,
    window: int | Sequence[int] | None = None,
    anchor: float = 0.5,
    ties: Ties = "lowest",
    tolerance: float = 1e-3,
    max_iterations: int = 100,
) -> SpatialFused:
    r"""A confusion matrix for every reader and voxel, from the window B round it (Asman and Landman 2012).

    .. math::
        W_{ik} \propto \pi_{ik} \prod_{r} T_i^{(r)}[k, D_{ri}], \qquad
        T_i^{(r)}[k, j] \propto \kappa\, T^{(r)}[k, j] + \sum_{i' \in B(i) : D_{ri'} = j} W_{i'k}

    T without a voxel is what :func:`staple` finds for the whole image; the posterior starts there too. Its weight κ is
    ``anchor`` times the voxels of a window. The prior of a voxel is the mean of STAPLE's posterior over its window,
    kept between 0.01 and 0.99, and stays as it is. Without the anchor, and with one prior for all voxels, the local
    matrices drift until whole regions turn to background. Sums over windows are box filters, linear in voxels whatever
    the window; nothing lies outside the image.

    It stops once no more than one voxel in ten thousand changes a probability by more than ``tolerance``. No function
    of all parameters is climbed, since windows overlap, so there is no ``history``; ``evidence`` is the log likelihood
    of the labels under the local matrices. Ties and voxels without labels follow the rules of :func:`staple`.

    Differs from the paper, whose window and weights in the published toolkit are not known: the anchor, the prior, and
    windows that hold all voxels alike.

    Args:
        masks: ``(R, *space)`` integers or booleans; -1 or NaN is a voxel that the reader did not label.
        classes: K; the largest label plus one, and at least two, by default.
        window: voxels along every axis, or along each, odd. By default 11 if the image has at most 64 along every
            axis, else 21. It is cut to the length of the axis.
        anchor: weight of the global estimate, as a share of the voxels in a window; above 0.
        ties: as in :func:`staple`.
        tolerance: change of a probability that is not worth another iteration.
        max_iterations: stop then in any case, with a warning.

    Returns:
        :class:`SpatialFused`, with :meth:`SpatialFused.local_confusion`.

    Example:
        >>> truth = np.zeros((16, 16), int)
        >>> truth[4:12, 2:14] = 1
        >>> blind = truth.copy()
        >>> blind[:, 8:] = 0
        >>> fused = spatial_staple([truth, truth, blind], window=5)
        >>> bool((fused.labels == truth).all())
        True
        >>> fused.local_confusion(2)[8, [4, 12], 1, 1].round(1)
        array([0.8, 0.2], dtype=float32)
    """
    check_ties(ties)
    check_amount("tolerance", tolerance)
    check_whole("max_iterations", max_iterations)
    check_amount("anchor", anchor)
    if not anchor:
        raise ValueError("anchor must be above 0, got 0: without one whole regions turn to background")
    read = Masks.read(masks, classes)
    start = staple(masks, classes=read.classes)
    windows = Windows(read, start.confusion, _window(window, read.space), anchor)
    believed = np.ascontiguousarray(np.moveaxis(start.posterior, -1, 0), np.float32)
    prior = windows.prior(believed, start.prior)
    evidence, converged = 0.0, False
    for _ in range(max_iterations):
        evidence, following = windows.expect(believed, prior)
        moving = float((np.abs(following - believed).max(0) > tolerance).mean())
        believed = following
        if moving <= RESTLESS:
            converged = True
            break
    if not converged:
        _warn(max_iterations, moving, tolerance)
    posterior = np.ascontiguousarray(np.moveaxis(believed, 0, -1))
    labels = decide(posterior.reshape(-1, read.classes), ties).reshape(read.space)
    if read.has_gaps:
        labels[(windows.votes < 0).all(0)] = MISSING
    return SpatialFused(
        posterior,
        labels,
        windows.mean_confusion(believed),
        np.moveaxis(prior, 0, -1),
        evidence,
        converged,
        overall=start.confusion,
        window=windows.window,
        anchor=float(anchor),
        masks=read,
    )


class Windows:
    """Sums over the window round every voxel, and what follows from them.

    Space comes last here: filters then run over memory in order, and readers and classes are added as they come.

    Attributes:
        votes: ``(R, *space)``.
        overall: ``(R, K, K, *ones)``, as many ones as axes of space.
    """

    def __init__(self, masks: Masks, overall: Array, window: tuple[int, ...], anchor: float) -> None:
        self.votes = masks.votes.reshape(-1, *masks.space)
        self.classes, self.has_gaps = masks.classes, masks.has_gaps
        self.window, self.anchor = window, np.float32(anchor)
        self.ones, self.axes = [1] * len(masks.space), tuple(range(-len(masks.space), 0))
        self.overall = overall.astype(np.float32).reshape(*overall.shape, *self.ones)

    def mean(self, values: Floats) -> Floats:
        """Sum of ``values (..., *space)`` over windows, divided by the voxels of a whole one."""
        from scipy.ndimage import uniform_filter

        mean: Floats = uniform_filter(values, (*[1] * (values.ndim - len(self.window)), *self.window), mode="constant")
        return mean

    def prior(self, believed: Floats, elsewhere: NDArray[np.floating[Any]]) -> Floats:
        """Window mean of ``believed (K, *space)`` over voxels with labels; ``elsewhere (K,)`` where there are none."""
        labelled = np.asarray((self.votes >= 0).any(0), np.float32)
        share = self.mean(labelled)
        known = share > 0.5 / np.prod(self.window)  # a running sum does not always come back to nought
        prior: Floats = np.broadcast_to(elsewhere.reshape(-1, *self.ones), believed.shape).astype(np.float32)
        np.divide(self.mean(believed * labelled), share, out=prior, where=known)
        np.clip(prior, LEAST, MOST, out=prior)
        prior /= prior.sum(0)
        return prior

    def readers(self) -> Iterator[tuple[slice, Floats]]:
        """Some readers at a time, and a one for every label of theirs: ``(r, K, *space)``."""
        step = max(1, TOGETHER // (self.classes * self.votes[0].size))
        labels = np.arange(self.classes).reshape(1, -1, *self.ones)
        for first in range(0, len(self.votes), step):
            some = slice(first, first + step)
            yield some, (self.votes[some, None] == labels).astype(np.float32)

    def rows(self, believed: Floats) -> Iterator[tuple[slice, int, Floats, Floats]]:
        """Readers' confusion round every voxel, row by row, given what is ``believed (K, *space)``.

        Yields:
            Some readers; the true class k; what they said, ``(r, K, *space)``; their rows k, of the same shape.
        """
        everyone = None if self.has_gaps else self.mean(believed)
        for some, said in self.readers():
            for k, here in enumerate(believed):
                total = self.mean(said.sum(1) * here) if everyone is None else everyone[k, None]
                yield some, k, said, self.row(here, total, self.overall[some, k], said)

    def row(self, believed: Floats, total: Floats, overall: Floats, said: Floats) -> Floats:
        rows = np.empty_like(said)
        rows[:, 1:] = self.mean(said[:, 1:] * believed)
        np.subtract(total, rows[:, 1:].sum(1), out=rows[:, 0])
        rows += self.anchor * overall
        np.maximum(rows, RAREST * self.anchor, out=rows)
        rows /= rows.sum(1, keepdims=True)
        return rows

    def expect(self, believed: Floats, prior: Floats) -> tuple[float, Floats]:
        """Local matrices from what is ``believed (K, *space)``; the evidence and what is believed then."""
        logits = np.log(prior)
        for some, k, said, rows in self.rows(believed):
            chosen = np.einsum("rj...,rj...->r...", rows, said)
            if self.has_gaps:
                chosen[self.votes[some] < 0] = 1
            logits[k] += np.log(chosen, out=chosen).sum(0)
        highest = logits.max(0)
        logits -= highest
        np.exp(logits, out=logits)
        totals = logits.sum(0)
        logits /= totals
        evidence = highest.sum(dtype=np.float64) + np.log(totals).sum(dtype=np.float64)
        return float(evidence), logits

    def mean_confusion(self, believed: Floats) -> Array:
        """Mean of local matrices over voxels that the reader labelled, weighted by what is believed: ``(R, K, K)``."""
        counts = np.empty(self.overall.shape[:3])
        for some, k, said, rows in self.rows(believed):
            rows *= (said.sum(1) * believed[k])[:, None]
            counts[some, k] = rows.sum(self.axes, dtype=np.float64)
        return rows_to_one(counts)


def _window(window: int | Sequence[int] | None, space: tuple[int, ...]) -> tuple[int, ...]:
    if window is None:
        window = SHORT if max(space) <= SMALL else LONG
    sizes = tuple(window) if isinstance(window, Sequence | np.ndarray) else (window,) * len(space)
    if len(sizes) != len(space) or any(not isinstance(n, int | np.integer) or n < 1 or n % 2 == 0 for n in sizes):
        raise ValueError(f"window must be one odd number, or one for each of {len(space)} axes, got {window!r}")
    return tuple(min(int(n), length - 1 + length % 2) for n, length in zip(sizes, space, strict=True))


def _warn(iterations: int, moving: float, tolerance: float) -> None:
    from sklearn.exceptions import ConvergenceWarning

    warnings.warn(
        f"spatial_staple stopped after {iterations} iterations while {moving:.2%} of the voxels changed by more than "
        f"{tolerance:g}: raise max_iterations or tolerance",
        ConvergenceWarning,
        stacklevel=3,
    )
