from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truelabel.data.exchange.brush import decode_brush, encode_brush

PUBLISHED: list[tuple[int, int, list[int], list[int]]] = [
    (1, 1, [0], [0, 0, 0, 4, 57, 27, 252, 127, 224]),
    (
        *(3, 5, [0, 1, 2, 10, 12, 14]),
        [0, 0, 0, 60, 57, 27, 253, 191, 252, 54, 1, 31, 252, 96, 17, 255, 198, 1, 31, 248],
    ),
    (7, 2, [4], [0, 0, 0, 56, 57, 27, 253, 240, 8, 255, 241, 24, 0]),
    (40, 60, [], [0, 0, 37, 128, 57, 27, 255, 37, 127, 0, 0]),
    (
        *(513, 129, [241, 4710, 11573, 51124, 64348, 64557]),
        [
            *(0, 4, 10, 4, 57, 27, 255, 3, 195, 0, 143, 255, 162, 231, 128, 71, 255, 218, 205, 192, 35, 255, 255, 255),
            *(224, 31, 255, 252, 3, 180, 251, 128, 71, 255, 243, 166, 192, 35, 255, 224, 103, 224, 17, 255, 241, 148),
            *(176, 0),
        ],
    ),
]
"""Height, width, painted pixels, and what ``mask2rle`` of label-studio-converter 0.0.59 makes of them.

The last has runs of more than 2^16 values, which are split.
"""


def painted(height: int, width: int, pixels: list[int]) -> Any:
    mask = np.zeros(height * width, bool)
    mask[pixels] = True
    return mask.reshape(height, width)


@pytest.mark.parametrize(("height", "width", "pixels", "code"), PUBLISHED)
def test_bytes_are_those_of_label_studios_own_converter(
    height: int, width: int, pixels: list[int], code: list[int]
) -> None:
    mask = painted(height, width, pixels)
    assert encode_brush(mask) == code
    np.testing.assert_array_equal(decode_brush(code, height, width), mask)


@given(arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_what_is_encoded_is_decoded(mask: Any) -> None:
    np.testing.assert_array_equal(decode_brush(encode_brush(mask), *mask.shape), mask)


def test_values_that_do_not_repeat_and_other_widths_are_read() -> None:
    """As rle-pack may write: one chunk of eight single values of 4 bits, widths 1, 2, 3 and 4."""
    values = [0, 0, 0, 7, 1, 2, 3, 0]
    bits = f"{8:032b}{3:05b}" + "".join(f"{width - 1:04b}" for width in (1, 2, 3, 4))
    bits += "0" + "10" + f"{7:03b}" + "".join(f"{value:04b}" for value in values)
    bits += "0" * (-len(bits) % 8)
    code = [int(bits[i : i + 8], 2) for i in range(0, len(bits), 8)]
    assert decode_brush(code, 1, 2).tolist() == [[True, False]]


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ([], "no list of bytes"),
        ([0, 0, 0, 4], "end early"),
        (PUBLISHED[0][3][:-2], "end early"),
        ([0, 0, 0, 5, 57, 27, 252, 127, 224], "hold 5 values, but 1 x 1 pixels have 4"),
        ([255, 255, 255, 255, 57, 27, 252, 127, 224], "hold 4294967295 values, but"),
        ([0, 0, 0, 4, 57, 27, 253, 255, 224], "hold more than 4 values"),
        ([0, 0, 0, 300], "no list of bytes"),
        ([-1], "no list of bytes"),
        ([[1]], "no list of bytes"),
        ([0.5], "no list of bytes"),
    ],
)
def test_damage_is_refused(code: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_brush(code, 1, 1)
