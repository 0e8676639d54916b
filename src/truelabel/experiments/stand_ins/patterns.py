"""Made-up pictures that show their class: coarse patterns of grey or colour, and digits of seven segments."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]

_SPREAD = 20.0
"""Standard deviation of the noise on every pixel, in 0 to 255."""

_CELLS = 4
"""A pattern has so many cells along each axis, large enough to survive pooling."""

_SEGMENTS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")
"""The segments that are lit in each digit: a on top, then clockwise, g in the middle."""


def balanced(rng: np.random.Generator, count: int, classes: int) -> Labels:
    """Labels ``(count,)`` in random order, each class as often as any other to within one."""
    return rng.permutation(count) % classes


def prototypes(rng: np.random.Generator, classes: int, channels: int, size: int) -> npt.NDArray[np.float64]:
    """One pattern for each class, ``(K, C, size, size)`` in 40 to 215."""
    cells = rng.uniform(40, 215, (classes, channels, _CELLS, _CELLS))
    at = np.arange(size) * _CELLS // size
    return np.asarray(cells[..., at[:, None], at[None]])


def noisy(rng: np.random.Generator, clean: npt.NDArray[np.float64], spread: float = _SPREAD) -> Bytes:
    """Pixels with Gaussian noise, as bytes."""
    return (clean + rng.normal(0, spread, clean.shape)).clip(0, 255).astype(np.uint8)


def digits(rng: np.random.Generator, labels: Labels, size: int) -> npt.NDArray[np.float64]:
    """Digits of seven segments, ``(N, size, size)`` in 0 to 1: strokes of 3 pixels, moved by up to one."""
    segments = _segment_masks(size)
    lit = np.array([[segment in on for segment in "abcdefg"] for on in _SEGMENTS], np.float64)
    drawn = np.einsum("ks,shw->khw", lit, segments).clip(0, 1)[labels]
    moved = [
        np.roll(one, shift, (0, 1)) for one, shift in zip(drawn, rng.integers(-1, 2, (len(drawn), 2)), strict=True)
    ]
    return np.stack(moved) if moved else drawn


def wrong(rng: np.random.Generator, labels: Labels, classes: int, rate: float) -> Labels:
    """Labels of which a share of ``rate`` is another class, drawn evenly."""
    others = (labels + rng.integers(1, classes, labels.shape)) % classes
    return np.where(rng.random(labels.shape) < rate, others, labels)


def _segment_masks(size: int) -> npt.NDArray[np.float64]:
    top, middle, bottom = size // 6, size // 2 - 1, size - size // 6 - 3
    left, right = size // 4, size - size // 4 - 3
    columns = slice(left, right + 3)
    upper, lower = slice(top, middle + 3), slice(middle, bottom + 3)
    masks = np.zeros((7, size, size))
    for position, (row, column) in enumerate(
        (
            (slice(top, top + 3), columns),
            (upper, slice(right, right + 3)),
            (lower, slice(right, right + 3)),
            (slice(bottom, bottom + 3), columns),
            (lower, slice(left, left + 3)),
            (upper, slice(left, left + 3)),
            (slice(middle, middle + 3), columns),
        )
    ):
        masks[position, row, column] = 1
    return masks
