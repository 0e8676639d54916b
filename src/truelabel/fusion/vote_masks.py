"""The vote of readers on every voxel."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from truelabel.fusion.fused import SMOOTHING, Fused, by_annotator, rows_to_one
from truelabel.fusion.masks import Masks, Ties, check_ties, decide
from truelabel.fusion.patterns import Patterns
from truelabel.types import MISSING


def vote_masks(masks: ArrayLike, *, classes: int | None = None, ties: Ties = "lowest") -> Fused:
    r"""The class that most readers gave a voxel (its *mode label*); the posterior is the share of votes (*mean label*).

    .. math:: q_{ik} = \frac{\sum_r 1[D_{ri} = k]}{\sum_r 1[D_{ri} \text{ given}]}

    A voxel that nobody labelled has the mean vote of the others as its posterior and -1 as its label.

    Args:
        masks: ``(R, *space)`` integers or booleans; -1 or NaN is a voxel that the reader did not label, and a reader
            without labels is absent.
        classes: K; the largest label plus one, and at least two, by default.
        ties: give tied classes to the "lowest" or the "highest" of them, or leave them "missing", -1.

    Returns:
        :class:`Fused` with posterior ``(*space, K)`` in float32, labels ``(*space)``, and the confusion ``(R, K, K)``
        that the shares imply.

    Example:
        >>> fused = vote_masks([[0, 1, 1, 0], [0, 1, 0, 1], [0, 1, 1, -1]])
        >>> fused.labels
        array([0, 1, 1, 0], dtype=int16)
        >>> fused.posterior[:, 1].round(2)
        array([0.  , 1.  , 0.67, 0.5 ], dtype=float32)
    """
    check_ties(ties)
    read = Masks.read(masks, classes)
    patterns = Patterns.find(read)
    cells, silent = patterns.cells(), patterns.given == 0
    weights = np.where(silent, 0.0, patterns.counts)[:, None]
    shares = rows_to_one(patterns.tallies(cells))
    prior = rows_to_one((shares * weights).sum(0))
    confusion = rows_to_one(by_annotator(cells.T @ (shares * weights)) + SMOOTHING)
    shares[silent] = prior
    labels = decide(shares, ties)
    labels[silent] = MISSING
    return Fused(
        patterns.spread(shares.astype(np.float32)).reshape(*read.space, read.classes),
        patterns.spread(labels).reshape(read.space),
        confusion,
        prior,
        None,
        True,
    )
