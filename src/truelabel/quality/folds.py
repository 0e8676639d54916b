"""Which examples are held out together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations
from truelabel.checks import check_whole
from truelabel.training.seeds import seed_of


def check_folds(folds: int) -> None:
    """Refuse a number of folds that leaves nothing to learn from.

    Example:
        >>> check_folds(1)
        Traceback (most recent call last):
        ValueError: folds must be 0, for the fitted model itself, or at least 2, got 1
    """
    check_whole("folds", folds, least=0)
    if folds == 1:
        raise ValueError("folds must be 0, for the fitted model itself, or at least 2, got 1")


def assign_folds(annotations: Annotations, folds: int, seed: int = 0) -> NDArray[np.int64]:
    """Deal examples out to folds of equal size, those with the same majority evenly; masks without regard to them.

    Args:
        annotations: what was said.
        folds: how many; as many as there are examples, if these are fewer.
        seed: of the order in which they are dealt.

    Returns:
        ``(N,)``, the fold of each example, from 0.

    Example:
        >>> fold = assign_folds(Annotations.from_labels([0, 0, 0, 1, 1, 1]), 3)
        >>> sorted(fold[:3].tolist()), sorted(fold[3:].tolist())
        ([0, 1, 2], [0, 1, 2])
    """
    n = len(annotations.examples)
    order = np.random.default_rng(seed_of(seed, "folds", "order")).permutation(n)
    if not annotations.space:
        majority = annotations.vote_counts().argmax(-1)
        order = order[np.argsort(majority[order], kind="stable")]
    fold = np.empty(n, np.int64)
    fold[order] = np.arange(n) % min(folds, n)
    return fold
