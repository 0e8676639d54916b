from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truelabel.data.exchange.run_lengths import decode_runs, encode_runs


@given(arrays(bool, st.integers(0, 40)))
def test_runs_are_those_of_groupby(pixels: Any) -> None:
    runs = [len(list(group)) for _, group in groupby(pixels.tolist())]
    expected = [0, *runs] if len(pixels) and pixels[0] else runs
    assert encode_runs(pixels) == expected
    np.testing.assert_array_equal(decode_runs(expected, len(pixels)), pixels)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([1, 4], "cover 5 pixels, but there are 4"),
        ([1, 2], "cover 3 pixels"),
        ([5, -1], "has the length -1"),
        ([1 << 80], "cover 1208925819614629174706176 pixels"),
        ([1 << 62, 1 << 62, 1 << 62, 1 << 62], "cover 18446744073709551616"),
    ],
)
def test_more_or_less_than_the_picture_is_refused(runs: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        decode_runs(runs, 4)
