"""Majority vote."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from truelabel.annotations import Annotations
from truelabel.fusion.em import check_shared, pooled
from truelabel.fusion.fused import SMOOTHING, Fused, by_annotator, rows_to_one
from truelabel.fusion.kernels import Array, Votes

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Ties = Literal["random", "lowest"]


def majority_vote(
    annotations: Annotations, *, ties: Ties = "random", seed: int = 0, fabric: Fabric | None = None
) -> Fused:
    r"""The class that most annotators named; the posterior is the share of votes.

    .. math:: q_{nk} = \frac{\sum_r 1[\tilde y^{(r)}_n = k]}{\sum_r 1[\tilde y^{(r)}_n \text{ given}]}

    An example that nobody labelled gets the mean vote of the others as its posterior.

    Args:
        annotations: what was said about N examples by R annotators; with several processes, this one's share of the
            examples, by the same annotators and of the same classes everywhere.
        ties: "random" (drawn from ``seed``, the same for the same seed) or the "lowest" class.
        seed: for ties.
        fabric: sums votes over its processes, so that all find what one process with all labels would; for ties too,
            if the shares are consecutive examples in the order of processes.

    Returns:
        :class:`Fused` with the confusion that the vote shares imply.

    Example:
        >>> fused = majority_vote(Annotations.from_matrix([["cat", "dog", "cat"], ["dog", "dog", None]]))
        >>> fused.labels
        array([0, 1])
    """
    if ties not in ("random", "lowest"):
        raise ValueError(f"ties must be 'random' or 'lowest', got {ties!r}")
    votes = Votes(annotations)
    check_shared(fabric, annotations)
    posterior = np.empty((votes.examples, votes.classes))
    counts, total = np.zeros((votes.cells, votes.classes)), np.zeros(votes.classes)
    for chunk in votes.chunks:
        posterior[chunk.rows] = shares = votes.shares(chunk)
        counts += chunk.votes.T @ shares
        total += shares.sum(0)
    counts, total = pooled(fabric, counts, total)
    prior = rows_to_one(total)
    posterior[annotations.counts == 0] = prior
    labels = posterior.argmax(-1)
    if ties == "random":
        _draw(labels, posterior, seed, fabric)
    return Fused(posterior, labels, rows_to_one(by_annotator(counts) + SMOOTHING), prior, None, True)


def _draw(
    labels: np.ndarray[tuple[int, ...], np.dtype[np.int64]], posterior: Array, seed: int, fabric: Fabric | None
) -> None:
    """Draw one of the winners wherever there are several."""
    best = posterior == posterior.max(-1, keepdims=True)
    tied = np.flatnonzero(best.sum(-1) > 1)
    k = posterior.shape[1]
    stream = np.random.PCG64(seed)
    if fabric is not None:
        ours = np.zeros(fabric.world_size)
        ours[fabric.global_rank] = len(tied)
        (everyone,) = pooled(fabric, ours)
        stream.advance(int(everyone[: fabric.global_rank].sum()) * k)  # past the lots of the processes before
    lots = np.random.Generator(stream).random((len(tied), k))
    labels[tied] = np.where(best[tied], lots, -1.0).argmax(-1)
