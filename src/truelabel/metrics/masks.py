"""What metrics of masks take: arrays or tensors of integers, image by image."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from truelabel.types import MISSING

Masks = Any
"""``(N, *space)``, an array or a tensor of integers, or any iterable of N masks, whose sizes may then differ."""


_CHUNK = 2**20
"""Voxels that are read at a time."""


def as_array(values: Any) -> NDArray[Any]:
    """An array of what may be a tensor, on any device.

    Example:
        >>> as_array([[0, 1]]).shape
        (1, 2)
    """
    return np.asarray(values.detach().cpu() if isinstance(values, Tensor) else values)


def blocks(predicted: Masks, truth: Masks) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.int64]]]:
    """Number of the first image, and masks predicted and true, ``(n, V)`` both, of a few images at a time.

    Images that come in one array are read many at a time, others one by one.

    Example:
        >>> [(first, p.tolist(), t.tolist()) for first, p, t in blocks([[[0, 1]], [[1]]], [[[0, 0]], [[-1]]])]
        [(0, [[0, 1]], [[0, 0]]), (1, [[1]], [[-1]])]
    """
    if all(isinstance(masks, np.ndarray | Tensor) for masks in (predicted, truth)) and predicted.shape == truth.shape:
        step = max(1, _CHUNK // max(1, math.prod(truth.shape[1:])))
        starts = range(0, len(truth), step)
        several = ((start, predicted[start : start + step], truth[start : start + step]) for start in starts)
    else:
        one_by_one = together(predicted, truth, "predicted")
        several = ((image, as_array(guess)[None], as_array(true)[None]) for image, guess, true in one_by_one)
    for first, guess, true in several:
        p, t = whole_numbers(guess, "predicted", first), whole_numbers(true, "truth", first)
        if p.shape != t.shape:
            raise ValueError(f"image {first}: predicted {p.shape[1:]} and truth {t.shape[1:]} differ in shape")
        yield first, p.reshape(len(p), -1), t.reshape(len(t), -1)


def together(values: Iterable[Any], truth: Masks, name: str) -> Iterator[tuple[int, Any, Any]]:
    """Number, value and truth of each image; raises an error if there are more of one than of the other.

    Example:
        >>> list(together("ab", "cd", "values"))
        [(0, 'a', 'c'), (1, 'b', 'd')]
    """
    for image, (value, true) in enumerate(zip_longest(values, truth)):
        if value is None or true is None:
            fewer, more = (name, "truth") if value is None else ("truth", name)
            raise ValueError(f"{fewer} ends after {image} images, {more} has more")
        yield image, value, true


def whole_numbers(mask: Any, name: str, image: int) -> NDArray[Any]:
    """A mask of integers of at least -1.

    Example:
        >>> whole_numbers([[True, False]], "truth", 0)
        array([[1, 0]])
    """
    values = as_array(mask)
    if values.dtype.kind not in "iub":
        raise ValueError(f"{name} must hold integers, got {values.dtype} from image {image} on")
    if values.dtype.kind == "i" and values.size and values.min() < MISSING:
        raise ValueError(
            f"{name} holds {values.min()} from image {image} on: classes are 0, 1, 2, …, and -1 is missing"
        )
    return values.astype(np.int64)
