"""Generalised energy distance: whether sampled masks differ as the readers' masks do."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.checks import check_whole
from truelabel.metrics.masks import whole_numbers
from truelabel.types import MISSING

Array = NDArray[np.float64]

_CHUNK = 2**22
"""Voxels of all masks of an image that are compared at a time."""


def generalised_energy_distance(
    samples: Any,
    references: Any,
    *,
    distance: Literal["iou", "dice"] = "iou",
    classes: int | None = None,
    weights: ArrayLike | None = None,
) -> float:
    r"""Squared energy distance between the masks S that a model samples of an image and those Y that readers drew.

    .. math:: D^2 = 2\,E[d(S, Y)] - E[d(S, S')] - E[d(Y, Y')]

    S and S' are independent, so that a mask is also compared with itself (Kohl 2018). The distance d of two masks is
    1 - IoU or 1 - Dice, a mean over the foreground classes 1, 2, … that at least one of the two has; 0 if both are
    empty. Such distances are of negative type, so that D² is never negative, as long as all pairs are compared on the
    same voxels: those that no mask lacks. A voxel that is -1 in any sample, or in any reference that was drawn, is left
    out of them all.

    Differs from the published code of Zhang 2020, which adds three mean Dice similarities.

    Args:
        samples: ``(S, *space)`` integers.
        references: ``(M, *space)`` integers; a mask of -1 alone was not drawn and does not count.
        distance: "iou", as in Kohl 2018, or "dice".
        classes: K; one more than the largest label by default, and at least 2.
        weights: ``(S,)``, how probable each sample is; all alike by default.

    Returns:
        0 if the masks are the same and as frequent, and at most 2; NaN if no reference was drawn, or no voxel is in all
        masks.

    Example:
        >>> readers = [[0, 1, 1], [0, 0, 1]]
        >>> generalised_energy_distance(readers, readers), generalised_energy_distance([[0, 0, 1]], readers)
        (0.0, 0.25)
    """
    if distance not in ("iou", "dice"):
        raise ValueError(f"distance must be 'iou' or 'dice', got {distance!r}")
    s, y = whole_numbers(samples, "samples", 0), whole_numbers(references, "references", 0)
    if s.ndim < 2 or not len(s) or s.shape[1:] != y.shape[1:]:
        raise ValueError(f"samples {s.shape} and references {y.shape} must be masks of one image, (*, *space)")
    s, y = s.reshape(len(s), -1), y.reshape(len(y), -1)
    y = y[(y != MISSING).any(1)]
    largest = max(int(mask.max(initial=1)) for mask in (s, y))
    if classes is not None:
        check_whole("classes", classes, 2)
        if largest >= classes:
            raise ValueError(f"class {largest} is outside 0..{classes - 1}: pass a larger classes=")
    share = _shares(weights, len(s))
    masks = np.concatenate([s, y])
    masks = masks[:, (masks != MISSING).all(0)]
    if not len(y) or not masks.size:
        return float("nan")
    joint = np.concatenate([share, np.full(len(y), -1 / len(y))])
    between = _distances(masks, largest, distance)
    # -(w, -1/M) d (w, -1/M)ᵀ is the sum of the three means; rounding may leave it just below zero.
    return max(0.0, -float(joint @ between @ joint))


def batch_energy_distance(
    samples: Any,
    references: Any,
    *,
    distance: Literal["iou", "dice"] = "iou",
    classes: int | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """The :func:`generalised_energy_distance` of each of several images.

    Args:
        samples: ``(N, S, *space)`` integers, or N times ``(S, *space)``.
        references: ``(N, M, *space)`` integers, or N times ``(M, *space)``.
        distance: "iou" or "dice".
        classes: K.
        weights: ``(N, S)``, how probable each sample is; all alike by default.

    Returns:
        ``(N,)``.

    Example:
        >>> batch_energy_distance([[[0, 1]], [[1, 1]]], [[[0, 1], [0, 1]], [[0, 1], [-1, -1]]])
        array([0., 1.])
    """
    n = len(samples)
    if len(references) != n or (weights is not None and len(np.asarray(weights)) != n):
        raise ValueError(f"samples are of {n} images and references of {len(references)}; weights must be as many")
    shares = [None] * n if weights is None else list(np.asarray(weights))
    return np.array(
        [
            generalised_energy_distance(s, y, distance=distance, classes=classes, weights=w)
            for s, y, w in zip(samples, references, shares, strict=True)
        ]
    )


def _distances(masks: NDArray[np.int64], largest: int, distance: str) -> Array:
    """Of all pairs of masks ``(B, V)`` without gaps: ``(B, B)``, mean over the classes that one of the two has."""
    count = len(masks)
    score, present = np.zeros((2, count, count))
    for k in range(1, largest + 1):
        both = np.zeros((count, count))
        for part in np.array_split(np.arange(masks.shape[1]), -(-masks.size // _CHUNK)):
            is_class = (masks[:, part] == k).astype(np.float64)
            both += is_class @ is_class.T
        size = both.diagonal()
        total = size[:, None] + size
        part_of, whole = (both, total - both) if distance == "iou" else (2 * both, total)
        occurs = total > 0
        score += np.divide(part_of, whole, out=np.zeros_like(both), where=occurs)
        present += occurs
    mean: Array = 1 - np.divide(score, present, out=np.ones_like(score), where=present > 0)
    return mean


def _shares(weights: ArrayLike | None, count: int) -> Array:
    if weights is None:
        return np.full(count, 1 / count)
    share = np.asarray(weights, dtype=np.float64)
    if share.shape != (count,) or not (share >= 0).all() or not 0 < share.sum() < np.inf:
        raise ValueError(f"weights must be {count} numbers, one a sample, not negative and not all zero")
    normalised: Array = share / share.sum()
    return normalised
