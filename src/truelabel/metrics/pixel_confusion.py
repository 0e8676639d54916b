"""Confusion of readers of masks: counted, averaged over voxels, and how far an estimate is from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.annotations import Annotations
from truelabel.metrics.masks import Masks, as_array, together, whole_numbers
from truelabel.types import MISSING

Array = NDArray[np.float64]


def reader_confusion(masks: Any, truth: Masks, classes: int, *, per_image: bool = False) -> Array:
    r"""Confusion of readers, counted over voxels.

    .. math:: T^{(r)}[k, j] = \frac{|\{v : y_v = k, \tilde y^{(r)}_v = j\}|}{|\{v : y_v = k, \tilde y^{(r)}_v \ne -1\}|}

    Args:
        masks: ``(N, R, *space)`` integers, -1 where a reader gave no label; or annotations of masks.
        truth: ``(N, *space)`` integers, -1 where it is not known.
        classes: K.
        per_image: count each image on its own.

    Returns:
        ``(R, K, K)``, ``[reader, true, observed]``, or ``(N, R, K, K)``. The row of a class that a reader never met is
        NaN; it counts for nothing in :func:`confusion_rmse`.

    Example:
        >>> reader_confusion([[[0, 1, 1], [0, 0, -1]]], [[0, 0, 1]], classes=2)
        array([[[0.5, 0.5],
                [0. , 1. ]],
        <BLANKLINE>
               [[1. , 0. ],
                [nan, nan]]])
    """
    true = [whole_numbers(mask, "truth", image) for image, mask in enumerate(truth)]
    readers, given = _rows(masks, len(true))
    counts = np.zeros((len(true), readers, classes, classes))
    for image, reader, mask in given:
        drawn = whole_numbers(mask, "masks", image)
        if drawn.shape != true[image].shape:
            raise ValueError(f"image {image}: masks {drawn.shape} and truth {true[image].shape} differ in shape")
        seen = (drawn != MISSING) & (true[image] != MISSING)
        k, j = true[image][seen], drawn[seen]
        if k.size and max(k.max(), j.max()) >= classes:
            raise ValueError(f"class {max(k.max(), j.max())} in image {image} is outside 0..{classes - 1}")
        cells = np.bincount(k * classes + j, minlength=classes**2)
        counts[image, reader] += cells.reshape(classes, classes)
    counts = counts if per_image else counts.sum(0)
    return _mean(counts, counts.sum(-1, keepdims=True))


def mean_confusion(matrices: Iterable[Any], truth: Masks, *, per_image: bool = False) -> Array:
    r"""Mean of a confusion that differs from voxel to voxel, each row over the voxels of its class.

    .. math:: \bar T^{(r)}[k, :] = \frac{1}{|\{v : y_v = k\}|} \sum_{v : y_v = k} T^{(r)}_v[k, :]

    At a voxel of true class k only row k is told by what readers draw there (Zhang 2020), so the others are left out.

    Args:
        matrices: ``(N, R, *space, K, K)``, ``[..., true, observed]``; or any iterable of N times ``(R, *space, K, K)``,
            such as a generator, so that they need not all be held at once.
        truth: ``(N, *space)`` integers, -1 where it is not known.
        per_image: average over each image on its own.

    Returns:
        ``(R, K, K)``, or ``(N, R, K, K)``; the row of a class that does not occur is NaN.

    Example:
        >>> matrices = np.array([[[np.eye(2), np.ones((2, 2)) / 2]]])  # one image, one reader, two voxels
        >>> mean_confusion(matrices, [[0, 0]])
        array([[[0.75, 0.25],
                [ nan,  nan]]])
    """
    sums, totals = [], []
    for image, cells, mask in together(matrices, truth, "matrices"):
        t, y = as_array(cells), whole_numbers(mask, "truth", image)
        if t.ndim != y.ndim + 3 or t.shape[1:-2] != y.shape or t.shape[-1] != t.shape[-2]:
            raise ValueError(f"image {image}: matrices must be (R, *{y.shape}, K, K), got {t.shape}")
        readers, k = len(t), t.shape[-1]
        if y.size and y.max() >= k:
            raise ValueError(f"truth has class {y.max()} in image {image}, outside 0..{k - 1}")
        total = np.bincount(y[y != MISSING], minlength=k).astype(np.float64)
        rows = [t[:, y == true, true].sum(1, dtype=np.float64) for true in range(k)]
        sums.append(np.stack(rows, 1))
        totals.append(np.broadcast_to(total[:, None], (readers, k, 1)))
    if not sums:
        raise ValueError("matrices must hold at least one image")
    part, whole = np.stack(sums), np.stack(totals)
    return _mean(part, whole) if per_image else _mean(part.sum(0), whole.sum(0))


def confusion_rmse(estimated: ArrayLike, true: ArrayLike, present: ArrayLike | None = None) -> float:
    r"""Root mean squared error of confusion matrices (the CM error of Zhang 2020, as its paper words it).

    .. math:: \sqrt{\frac{1}{R} \sum_r \frac{1}{|P_r| K} \sum_{k \in P_r} \sum_j (\hat T^{(r)}_{kj} - T^{(r)}_{kj})^2}

    :math:`P_r` are the classes that are present: those whose row is known, not NaN, in both. Readers without any are
    left out of the mean.

    Differs from the published code, which compares the transposed mean of all rows with a joint table, takes no root
    and sums over readers: its figures cannot be compared with these.

    Args:
        estimated: ``(R, K, K)``, ``[reader, true, observed]``; see :func:`mean_confusion`.
        true: of the same shape; see :func:`reader_confusion`.
        present: ``(K,)`` or ``(R, K)``, which classes count; all by default.

    Returns:
        Between 0 and 1; NaN if no row is known.

    Example:
        >>> confusion_rmse([[[0.5, 0.5], [0.0, 1.0]]], [[[1.0, 0.0], [np.nan, np.nan]]])
        0.5
    """
    a, b = as_array(estimated).astype(np.float64), as_array(true).astype(np.float64)
    if a.ndim != 3 or a.shape[-1] != a.shape[-2] or not a.size:
        raise ValueError(f"estimated must be (R, K, K), got {a.shape}")
    if a.shape != b.shape:
        raise ValueError(f"estimated {a.shape} and true {b.shape} differ in shape")
    squares = ((a - b) ** 2).mean(-1)
    known = ~np.isnan(squares)
    if present is not None:
        known &= as_array(present).astype(bool)
    per_reader = _mean(np.where(known, squares, 0).sum(-1), known.sum(-1))[known.any(-1)]
    return float(np.sqrt(per_reader.mean())) if len(per_reader) else float("nan")


def _rows(masks: Any, images: int) -> tuple[int, Iterator[tuple[int, int, Any]]]:
    """The number of readers; image, reader and mask of each mask given."""
    if isinstance(masks, Annotations):
        if len(masks.examples) != images:
            raise ValueError(f"masks are of {len(masks.examples)} images and truth of {images}")
        return len(masks.annotators), zip(masks.example.tolist(), masks.annotator.tolist(), masks.label, strict=True)
    if len(masks) != images or not images:
        raise ValueError(f"masks are of {len(masks)} images and truth of {images}")
    readers = len(masks[0])
    return readers, ((n, r, mask) for n, drawn in enumerate(masks) for r, mask in enumerate(drawn))


def _mean(total: Array, count: NDArray[Any]) -> Array:
    """NaN where nothing was counted."""
    counted = np.broadcast_to(count, total.shape)
    mean: Array = np.divide(total, counted, out=np.full(total.shape, np.nan), where=counted > 0)
    return mean
