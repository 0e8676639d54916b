"""The run lengths of Label Studio's brush: bits packed as the JavaScript library rle-pack does.

A header has the number of values (32 bits), the bits of a value less one (5), and four widths of lengths less one (4
each). Then come chunks: a bit that says whether a value repeats, two bits for the width, the length less one, and the
value once if it repeats, or else so many values. Values are the channels of an RGBA picture, row by row; what is
painted is what is not transparent.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

WIDTHS = (3, 4, 8, 16)
"""Bits of a length, as Label Studio's own converter chooses them."""

CHANNELS = 4


def decode_brush(code: Sequence[int], height: int, width: int) -> NDArray[np.bool_]:
    """What was painted, ``(H, W)``.

    Args:
        code: bytes, as the list of numbers that stands in an export.
        height: of the picture.
        width: of the picture.

    Raises:
        ValueError: if these are no bytes, end early, or hold more or less than the picture; nothing is allocated then.

    Example:
        >>> mask = np.eye(3, dtype=bool)
        >>> bool((decode_brush(encode_brush(mask), 3, 3) == mask).all())
        True
    """
    values = np.asarray(code)
    if values.ndim != 1 or values.dtype.kind not in "iu" or values.min(initial=0) < 0 or values.max(initial=0) > 255:
        raise ValueError("its brush strokes are no list of bytes")
    bits = (np.unpackbits(values.astype(np.uint8)) + ord("0")).tobytes().decode()
    place = 0

    def read(size: int) -> int:
        nonlocal place
        place += size
        if place > len(bits):
            raise ValueError("its brush strokes end early")
        return int(bits[place - size : place], 2)

    total, word = read(32), read(5) + 1
    widths = [read(4) + 1 for _ in range(4)]
    expected = height * width * CHANNELS
    if total != expected:
        raise ValueError(f"its brush strokes hold {total} values, but {height} x {width} pixels have {expected}")
    out = np.zeros(total, np.bool_)
    i = 0
    while i < total:
        repeats = read(1)
        end = i + 1 + read(widths[read(2)])
        if end > total:
            raise ValueError(f"its brush strokes hold more than {total} values")
        if repeats:
            out[i:end] = read(word) > 0
        else:
            out[i:end] = [read(word) > 0 for _ in range(end - i)]
        i = end
    return out.reshape(height, width, CHANNELS)[..., -1]


def encode_brush(mask: NDArray[np.bool_]) -> list[int]:
    """Bytes for a mask ``(H, W)``, bit by bit those that Label Studio's own converter writes.

    Example:
        >>> encode_brush(np.ones((1, 2), bool))
        [0, 0, 0, 8, 57, 27, 252, 255, 224]
    """
    values = np.repeat(np.where(np.asarray(mask, bool).ravel(), 255, 0), CHANNELS)
    changes = np.flatnonzero(values[1:] != values[:-1]) + 1
    starts = np.concatenate([[0], changes]) if len(values) else np.empty(0, np.int64)
    lengths = np.diff(np.append(starts, len(values)))
    header = f"{len(values):032b}{7:05b}" + "".join(f"{size - 1:04b}" for size in WIDTHS)
    chunks = [_chunks(int(n), int(v)) for n, v in zip(lengths, values[starts.astype(np.int64)], strict=True)]
    bits = header + "".join(chunks)
    bits += "0" * (8 - len(bits) % 8)  # a whole byte where none is needed, as the converter has it
    packed: list[int] = np.packbits(np.frombuffer(bits.encode(), np.uint8) - ord("0")).tolist()
    return packed


def _chunks(length: int, value: int) -> str:
    """One value, ``length`` times; what is too long for one chunk is split."""
    longest = 1 << WIDTHS[-1]
    whole, rest = divmod(length - 1, longest)
    full = f"111{longest - 1:016b}{value:08b}" * whole
    # The smallest width that holds what is left, but the largest after a split.
    which = 3 if whole else next(i for i, size in enumerate(WIDTHS) if rest < 1 << size)
    return f"{full}1{which:02b}{rest:0{WIDTHS[which]}b}{value:08b}"
