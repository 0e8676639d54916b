"""Masks of one image by several readers, checked, and the rule that turns probabilities into one mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.annotations import label_type
from truelabel.checks import check_whole
from truelabel.coding import LabelError
from truelabel.fusion.kernels import Integers
from truelabel.types import MISSING

Ties = Literal["lowest", "highest", "missing"]
"""Which of equally probable classes a voxel gets: the lowest, the highest, or none."""

TIE = 1e-6
"""Probabilities this close are equal: rounding must not decide, nor the order of readers."""

SCATTERED = 32
"""Labels up to this are taken for classes however few of them occur; 0 and 255 alone are a picture of two classes."""


@dataclass(frozen=True, eq=False)
class Masks:
    """What R readers said of the V voxels of one image, in the integers they came in.

    Attributes:
        votes: ``(R, V)``, -1 where a reader gave no label; a view of what was passed, if that was possible.
        space: shape of the image.
        classes: K.
        has_gaps: whether a label is missing anywhere.
    """

    votes: Integers
    space: tuple[int, ...]
    classes: int
    has_gaps: bool

    @classmethod
    def read(cls, masks: ArrayLike, classes: int | None = None) -> Masks:
        """Check ``masks (R, *space)``; K is the largest label plus one, and at least two, unless ``classes`` says it.

        Example:
            >>> read = Masks.read([[[0, 1], [2, -1]]])
            >>> read.votes, read.space, read.classes
            (array([[ 0,  1,  2, -1]]), (2, 2), 3)
        """
        values = _whole(np.asarray(masks))
        if values.ndim < 2:
            raise LabelError(f"masks must be (readers, *space), got shape {values.shape}: pass one mask as masks[None]")
        if not values.size:
            raise LabelError(f"masks of shape {values.shape} hold no voxel")
        low, high = int(values.min()), int(values.max())
        if low < MISSING:
            raise LabelError(f"label {low} of masks is neither a class nor {MISSING}, which means no label")
        if high < 0:
            raise LabelError(f"masks hold no label: every voxel is {MISSING}")
        votes = values.reshape(len(values), -1)
        return cls(votes, values.shape[1:], _count(votes, high, classes), low < 0)


def _whole(values: NDArray[Any]) -> NDArray[Any]:
    """The same numbers as integers; NaN becomes -1."""
    if values.dtype.kind == "b":
        return values.view(np.uint8)
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind != "f":
        raise LabelError(f"masks must hold integers, got {values.dtype}")
    given = ~np.isnan(values)
    fractional = given & (values != np.floor(values))
    if fractional.any():
        raise LabelError(f"masks hold fractions such as {values[fractional][0]:g}: threshold or round them first")
    return np.where(given, values, MISSING).astype(np.int32)


def _count(votes: Integers, high: int, classes: int | None) -> int:
    if classes is not None:
        check_whole("classes", classes)
        if high >= classes:
            reader = int((votes == high).any(-1).argmax())
            raise LabelError(
                f"label {high} of reader {reader} is outside 0..{classes - 1}: pass classes={high + 1} or fix the mask"
            )
        return int(classes)
    if high > SCATTERED:
        found = np.unique(votes[votes >= 0])
        if 4 * len(found) < high:
            raise LabelError(
                f"masks hold {len(found)} different labels up to {high}: recode them to 0, 1, 2, … (for two classes, "
                f"masks == {high}), or pass classes={high + 1}"
            )
    return max(high + 1, 2)


def decide(probs: NDArray[np.floating[Any]], ties: Ties) -> Integers:
    """The most probable class of each row of ``probs (n, K)``, in the integer type of masks: ``(n,)``.

    Example:
        >>> probs = np.array([[0.2, 0.4, 0.4], [0.1, 0.3, 0.6]])
        >>> [decide(probs, ties).tolist() for ties in ("lowest", "highest", "missing")]
        [[1, 2], [2, 2], [-1, 2]]
    """
    k = probs.shape[-1]
    best = probs >= probs.max(-1, keepdims=True) - TIE
    chosen = k - 1 - best[:, ::-1].argmax(-1) if ties == "highest" else best.argmax(-1)
    labels: Integers = chosen.astype(label_type(k))
    if ties == "missing":
        labels[best.sum(-1) > 1] = MISSING
    return labels


def check_ties(ties: str) -> None:
    """Raise a ValueError unless ``ties`` is one of the rules."""
    if ties not in ("lowest", "highest", "missing"):
        raise ValueError(f"ties must be 'lowest', 'highest' or 'missing', got {ties!r}")
