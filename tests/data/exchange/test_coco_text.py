from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.data.exchange.coco_text import runs_from_text, text_from_runs

PUBLISHED = {
    "01": [0, 1],
    "01111OO040": [0, 1, 1, 2, 2, 1, 1, 1, 5, 1],
    "P[2": [2400],
    "0P[2": [0, 2400],
    "21;": [2, 1, 11],
    "d]d01hc80P^K0fP90hZJ0^SK0ko5": [20916, 1, 8824, 1, 4152, 1, 13390, 1, 7590, 1, 2580, 1, 8719],
}
"""What pycocotools 2.0.11 writes for runs of these lengths; the last from a mask of 513 x 129."""


@pytest.mark.parametrize(("text", "runs"), PUBLISHED.items())
def test_text_is_that_of_cocos_own_tools(text: str, runs: list[int]) -> None:
    assert runs_from_text(text) == runs
    assert text_from_runs(runs) == text


@given(st.lists(st.integers(0, 1 << 30)))
def test_what_is_written_is_read(runs: list[int]) -> None:
    assert runs_from_text(text_from_runs(runs)) == runs


@pytest.mark.parametrize(
    ("text", "message"),
    [("0!", "damaged at number 2"), ("P", "end within a number"), ("o" * 20, "damaged at number 1"), ("é", "damaged")],
)
def test_damage_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runs_from_text(text)
