from __future__ import annotations

import math

import numpy as np
import pytest

from truelabel.checks import check_amount, check_between, check_flag, check_whole


def test_what_makes_sense_passes() -> None:
    for amount in (0, 0.0, 3, 1e-9, np.float32(0.5), np.int64(2)):
        check_amount("trace", amount)
    for part in (0.5, 1e-9, np.float32(0.1), 1 - 1e-9):
        check_between("start", part)
    for whole in (1, 7, np.int32(3)):
        check_whole("rounds", whole)
    check_whole("burn_in", 0, least=0)
    check_flag("soft", True)


@pytest.mark.parametrize("value", [-1, -1e-9, math.nan, math.inf, True, "0.1", None])
def test_an_amount_is_a_number_from_zero_on(value: object) -> None:
    with pytest.raises(ValueError, match="^trace must be a number of at least 0, got "):
        check_amount("trace", value)


@pytest.mark.parametrize("value", [0, 1, 0.0, 1.0, -0.5, 2, math.nan, True, False, "0.5", None])
def test_a_part_lies_between_nothing_and_the_whole(value: object) -> None:
    with pytest.raises(ValueError, match="^start must lie between 0 and 1, got "):
        check_between("start", value)


@pytest.mark.parametrize("value", [0, -3, 2.0, True, "2", None])
def test_a_count_is_whole(value: object) -> None:
    with pytest.raises(ValueError, match="^rounds must be a whole number of at least 1, got "):
        check_whole("rounds", value)


@pytest.mark.parametrize("value", [0, 1, "true", None])
def test_a_flag_is_true_or_false(value: object) -> None:
    with pytest.raises(ValueError, match="^soft must be true or false, got "):
        check_flag("soft", value)
