"""Run lengths: how many pixels are out, in, out, … of a mask, as COCO and CVAT keep them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def decode_runs(counts: Sequence[int], size: int) -> NDArray[np.bool_]:
    """Pixels ``(size,)`` from alternating lengths, of which the first is outside.

    Raises:
        ValueError: if a length is negative, or they do not add up to ``size``; nothing is allocated then.

    Example:
        >>> decode_runs([1, 2, 1], 4).tolist()
        [False, True, True, False]
    """
    if any(count < 0 for count in counts):
        raise ValueError(f"a run has the length {min(counts)}")
    total = sum(counts)
    if total != size:
        raise ValueError(f"its runs cover {total} pixels, but there are {size}")
    inside = np.arange(len(counts)) % 2 == 1
    return np.repeat(inside, np.array(counts, np.int64))


def encode_runs(pixels: NDArray[np.bool_]) -> list[int]:
    """Lengths of a flat mask ``(size,)``; the first is 0 where the mask begins inside.

    Example:
        >>> encode_runs(np.array([True, True, False]))
        [0, 2, 1]
    """
    if not len(pixels):
        return []
    changes = np.flatnonzero(pixels[1:] != pixels[:-1]) + 1
    lengths = np.diff(np.concatenate([[0], changes, [len(pixels)]])).tolist()
    return [0, *lengths] if pixels[0] else lengths
