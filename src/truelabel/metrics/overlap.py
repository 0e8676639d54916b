"""How far predicted masks and true ones overlap: Dice and intersection over union."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truelabel.checks import check_whole
from truelabel.metrics.masks import Masks, blocks
from truelabel.types import MISSING

Array = NDArray[np.float64]


def dice(
    predicted: Masks,
    truth: Masks,
    *,
    classes: int | None = None,
    background: bool = False,
    per_class: bool = False,
) -> Array:
    r"""Foreground Dice of each image: the mean over the classes 1, 2, …; class 0 is background and left out.

    .. math:: \frac{1}{K - 1} \sum_{k = 1}^{K - 1} \frac{2\,|A_k ∩ B_k|}{|A_k| + |B_k|}

    :math:`A_k` are the voxels predicted to be of class k, :math:`B_k` those that are. Where both are empty the Dice is
    1; so an image in which nothing is, and nothing is found, counts as 1. Voxels whose truth is -1 are left out.
    (The published code of Zhang 2020 takes the background in, which is far higher.)

    Args:
        predicted: ``(N, *space)`` integers, or N masks of any sizes; -1 is no class.
        truth: likewise; -1 where it is not known.
        classes: K; one more than the largest label of both by default, and at least 2.
        background: whether class 0 counts too.
        per_class: give the classes one by one instead of their mean.

    Returns:
        ``(N,)``; if ``per_class``, ``(N, K - 1)``, or ``(N, K)`` with the background.

    Example:
        >>> dice([[[0, 1, 1]], [[0, 0, 0]]], [[[0, 0, 1]], [[0, 0, 0]]])
        array([0.66666667, 1.        ])
    """
    both, either = _counts(predicted, truth, classes, background)
    return _ratio(2 * both, either, per_class)


def iou(
    predicted: Masks,
    truth: Masks,
    *,
    classes: int | None = None,
    background: bool = False,
    per_class: bool = False,
) -> Array:
    r"""Foreground intersection over union of each image: the mean over the classes 1, 2, …; class 0 is left out.

    .. math:: \frac{1}{K - 1} \sum_{k = 1}^{K - 1} \frac{|A_k ∩ B_k|}{|A_k ∪ B_k|}

    :math:`A_k` are the voxels predicted to be of class k, :math:`B_k` those that are; 1 where both are empty. Voxels
    whose truth is -1 are left out. For the figure of VOC and Cityscapes see :func:`mean_iou`.

    Args:
        predicted: ``(N, *space)`` integers, or N masks of any sizes; -1 is no class.
        truth: likewise; -1 where it is not known.
        classes: K; one more than the largest label of both by default, and at least 2.
        background: whether class 0 counts too.
        per_class: give the classes one by one instead of their mean.

    Returns:
        ``(N,)``; if ``per_class``, ``(N, K - 1)``, or ``(N, K)`` with the background.

    Example:
        >>> iou([[[0, 1, 1]], [[0, 0, 0]]], [[[0, 0, 1]], [[0, 0, 0]]])
        array([0.5, 1. ])
    """
    both, either = _counts(predicted, truth, classes, background)
    return _ratio(both, either - both, per_class)


def mean_iou(predicted: Masks, truth: Masks, *, classes: int | None = None) -> float:
    r"""Mean intersection over union of a whole data set, as VOC and Cityscapes report it.

    .. math:: \frac{1}{|P|} \sum_{k \in P} \frac{\sum_n |A_{nk} ∩ B_{nk}|}{\sum_n |A_{nk} ∪ B_{nk}|}

    Voxels are summed over all images first, so that large objects count more than in the mean of :func:`iou`. Class 0
    counts too: in VOC it is the background, in Cityscapes the road. P are the classes that occur at all, in the truth
    or in what is predicted. Void voxels, whose truth is -1, are left out.

    Args:
        predicted: ``(N, *space)`` integers, or N masks of any sizes; -1 is no class.
        truth: likewise; -1 where it is void.
        classes: K; one more than the largest label of both by default, and at least 2.

    Returns:
        Between 0 and 1; NaN if there is no voxel to score.

    Example:
        >>> mean_iou([[[0, 1, 1]], [[0, 0, 0]]], [[[0, 0, 1]], [[0, 0, -1]]])
        0.625
    """
    both, either = (counts.sum(0) for counts in _counts(predicted, truth, classes, background=True))
    occurs = either > 0
    return float((both[occurs] / (either - both)[occurs]).mean()) if occurs.any() else float("nan")


def _counts(predicted: Masks, truth: Masks, classes: int | None, background: bool) -> tuple[Array, Array]:
    """Of each image and class, voxels of the intersection and of both masks together: ``(N, K)`` both."""
    if classes is not None:
        check_whole("classes", classes, 2)
    counted = []
    # A few images at a time, so that a data set may be read while it is scored.
    for first, guess, true in blocks(predicted, truth):
        given = true != MISSING
        guess = np.where(given, guess, MISSING)
        _check_classes(guess, true, classes, first)
        k = max(2, guess.max(initial=0) + 1, true.max(initial=0) + 1) if classes is None else classes
        cell = np.arange(len(true))[:, None] * k
        both, seen, there = (
            np.bincount((cell + labels)[where], minlength=len(true) * k).reshape(len(true), k)
            for labels, where in ((true, given & (guess == true)), (guess, guess != MISSING), (true, given))
        )
        counted.append(np.stack([both, seen + there]))
    most = max((block.shape[-1] for block in counted), default=2 if classes is None else classes)
    counts = [np.pad(block, ((0, 0), (0, 0), (0, most - block.shape[-1]))) for block in counted]
    total = np.concatenate([np.zeros((2, 0, most)), *counts], 1)[..., 0 if background else 1 :]
    return total[0], total[1]


def _check_classes(guess: NDArray[np.int64], true: NDArray[np.int64], classes: int | None, first: int) -> None:
    for name, labels in (("predicted", guess), ("truth", true)):
        outside = (labels >= classes).any(1) if classes is not None else np.zeros(1, bool)
        if outside.any():
            image = int(outside.argmax())
            raise ValueError(f"{name} has class {labels[image].max()} in image {first + image}: classes is {classes}")


def _ratio(part: Array, whole: Array, per_class: bool) -> Array:
    ratio: Array = np.divide(part, whole, out=np.ones_like(part), where=whole > 0)
    mean: Array = ratio if per_class else ratio.mean(1)
    return mean
