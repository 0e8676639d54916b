"""How strong a reader must err so that masks have the Dice wanted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from truelabel.corruption.reader import Reader
from truelabel.corruption.true_mask import Mask, TrueMask

_STEPS = 20
"""Halvings of the range: a millionth of it is exact enough."""


def strength_for_dice(
    make_reader: Callable[[float], Reader],
    masks: Tensor,
    dice: float,
    generator: torch.Generator,
    *,
    most: float = 8.0,
    tolerance: float = 0.005,
) -> float:
    r"""The strength at which a reader's mean foreground Dice against the truth is as wanted, found by bisection.

    .. math:: \frac{1}{N} \sum_n \frac{1}{K-1} \sum_{k \ge 1}
        \frac{2\,|\tilde y_n = k ∧ y_n = k|}{|\tilde y_n = k| + |y_n = k|}

    K - 1 is the largest class of ``masks``; a class that neither has counts as 1 (as in ``truelabel.metrics.dice``).
    Every strength is tried with the same draws. The Dice must not rise with the strength, as it does not for
    :class:`Thickening`, :class:`Thinning`, :class:`Fracture`, :class:`EdgeAdded`, :class:`EdgeRemoved` and, with
    ``most`` up to its period, :class:`BlocksDropped`, nor for :class:`GreyDilation` and :class:`GreyErosion` of two
    classes.

    Args:
        make_reader: ``strength -> reader``, such as the class itself; at strength 0 it should draw the truth.
        masks: ``(N, *space)`` true masks.
        dice: wanted, between 0 and 1.
        generator: for the draws of readers.
        most: the strongest that is tried.
        tolerance: how far the Dice may be from the one wanted.

    Returns:
        The strength.

    Example:
        >>> from truelabel.corruption import Thickening
        >>> masks = torch.zeros(20, 28, 28, dtype=torch.long)
        >>> for i in range(20):
        ...     masks[i, 4:24, 8 : 10 + i // 3] = 1
        >>> amount = strength_for_dice(Thickening, masks, 0.8, torch.Generator().manual_seed(0), tolerance=0.02)
        >>> round(amount, 2)
        0.44
    """
    if not 0 <= dice <= 1:
        raise ValueError(f"dice must lie in [0, 1], got {dice}")
    if not len(masks):
        raise ValueError("masks must hold at least one mask")
    truths = [TrueMask(mask) for mask in masks.numpy()]
    seeds = torch.randint(2**62, (len(truths),), generator=generator).tolist()
    classes = max(1, int(masks.max()))

    def reached(strength: float) -> float:
        reader = make_reader(strength)
        drawn = (reader(truth, torch.Generator().manual_seed(seed)) for truth, seed in zip(truths, seeds, strict=True))
        return float(np.mean([_dice(mask, truth.mask, classes) for mask, truth in zip(drawn, truths, strict=True)]))

    weak, strong = 0.0, float(most)
    highest, lowest = reached(weak), reached(strong)
    for strength, score in ((weak, highest), (strong, lowest)):
        if abs(score - dice) <= tolerance:
            return strength
    if not lowest < dice < highest:
        raise ValueError(
            f"dice {dice} is out of reach: strengths of 0..{most:g} reach {lowest:.3f}..{highest:.3f}; "
            "ask for one in between, or pass most="
        )
    for _ in range(_STEPS):
        middle = (weak + strong) / 2
        score = reached(middle)
        if abs(score - dice) <= tolerance:
            return middle
        if score > dice:
            weak, highest = middle, score
        else:
            strong, lowest = middle, score
    raise ValueError(
        f"dice {dice} is skipped: at strength {strong:.4g} it falls from {highest:.3f} to {lowest:.3f}; "
        "pass more masks, or a larger tolerance="
    )


def _dice(drawn: Mask, true: Mask, classes: int) -> float:
    """Mean over the foreground classes of one mask."""
    labels = np.arange(1, classes + 1).reshape(-1, *[1] * true.ndim)
    a, b = (mask == labels for mask in (drawn, true))
    space = tuple(range(1, true.ndim + 1))
    both, total = (a & b).sum(space), a.sum(space) + b.sum(space)
    return float(np.where(total > 0, 2 * both / np.maximum(total, 1), 1.0).mean())
