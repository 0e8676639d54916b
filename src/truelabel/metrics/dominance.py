"""Whether annotators' confusion can be told from the truth."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

_ROUNDING = 1e-12
"""Probabilities that lie closer together are equal."""


def undominated_classes(confusion: ArrayLike, weights: ArrayLike | None = None) -> list[int]:
    r"""Classes whose mean confusion is not diagonally dominant, so that nothing vouches for its estimate.

    .. math:: \{ i : \bar T[i, i] \le \max_{j \ne i} \bar T[j, i] \}, \quad \bar T = \sum_r w_r T^{(r)} / \sum_r w_r

    A class i is in it if some other class is called i as often as i itself is. This is about the *columns* of T, not
    its rows: a class may be mistaken more often than not, as long as no other is called by its name as often. If it is
    empty for the true and for the estimated confusion, the estimate of least trace that explains the labels is the
    true one (Theorem 1 of Tanno 2019, whose matrices are ours transposed). The theorem speaks of the limit of many
    labels, and its condition is sufficient: several labels an example may tell more.

    Args:
        confusion: ``(R, K, K)``, or ``(K, K)`` for one annotator, ``[annotator, true, observed]``.
        weights: ``(R,)``, not negative, such as the number of labels that each annotator gave; None for equal ones, as
            in the paper.

    Returns:
        The positions of these classes, ascending; none is good news.

    Example:
        >>> undominated_classes([[0.9, 0.1, 0.0], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]])
        [1]
    """
    cells = np.asarray(confusion, dtype=np.float64)
    cells = cells[None] if cells.ndim == 2 else cells
    if cells.ndim != 3 or cells.shape[-1] != cells.shape[-2] or not cells.size:
        raise ValueError(f"confusion must be (R, K, K) or (K, K), got {np.shape(confusion)}")
    if not np.isfinite(cells).all():
        raise ValueError("confusion must be finite: leave out annotators whose confusion is unknown")
    share = np.ones(len(cells)) if weights is None else np.asarray(weights, dtype=np.float64)
    if share.shape != (len(cells),) or not (share >= 0).all() or not 0 < share.sum() < np.inf:
        raise ValueError(f"weights must be {len(cells)} numbers, one an annotator, not negative and not all zero")
    mean = np.tensordot(share / share.sum(), cells, 1)
    diagonal = mean.diagonal().copy()
    np.fill_diagonal(mean, -np.inf)
    undominated: list[int] = np.flatnonzero(diagonal <= mean.max(0) + _ROUNDING).tolist()
    return undominated
