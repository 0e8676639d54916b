from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import special, stats

from truelabel.metrics import TTest, bootstrap_interval, paired_t_test, significance, welch_t_test


def two_tails(statistic: float, freedom: float) -> float:
    """P(|t| > statistic), from the incomplete beta function."""
    return float(special.betainc(freedom / 2, 0.5, freedom / (freedom + statistic**2)))


def test_paired_by_hand() -> None:
    # Differences 1, 2, 3, 6: mean 3, variance 14/3.
    result = paired_t_test([11.0, 12.0, 23.0, 26.0], [10.0, 10.0, 20.0, 20.0])
    t = 3 / math.sqrt(14 / 3 / 4)
    assert result.difference == pytest.approx(3)
    assert result.statistic == pytest.approx(t)
    assert result.p_value == pytest.approx(two_tails(t, 3))


def test_welch_by_hand() -> None:
    # Means 2 and 5, variances 1 and 20/3, sizes 3 and 4.
    result = welch_t_test([1.0, 2.0, 3.0], [2.0, 4.0, 6.0, 8.0])
    a, b = 1 / 3, 20 / 3 / 4
    t, freedom = -3 / math.sqrt(a + b), (a + b) ** 2 / (a**2 / 2 + b**2 / 3)
    assert result.difference == pytest.approx(-3)
    assert result.statistic == pytest.approx(t)
    assert result.p_value == pytest.approx(two_tails(t, freedom))


def test_pairing_finds_what_seeds_hide() -> None:
    rng = np.random.default_rng(0)
    seeds = rng.normal(0.8, 0.05, 25)
    better = seeds + rng.normal(0.01, 0.005, 25)
    assert paired_t_test(better, seeds).p_value < 1e-6
    assert welch_t_test(better, seeds).p_value > 0.1


def test_exchange_turns_the_sign() -> None:
    a, b = np.random.default_rng(1).normal(size=(2, 6))
    for test in (paired_t_test, welch_t_test):
        there, back = test(a, b), test(b, a)
        assert (there.difference, there.statistic) == pytest.approx((-back.difference, -back.statistic))
        assert there.p_value == pytest.approx(back.p_value)


@pytest.mark.parametrize("shift", [0.0, 0.1, -0.1])
def test_differences_without_spread(shift: float) -> None:
    b = np.array([0.91, 0.93, 0.97])
    result = paired_t_test(b + shift, b)
    if shift:
        assert result.difference == pytest.approx(shift)
        assert (result.statistic, result.p_value) == (math.copysign(math.inf, shift), 0.0)
    else:
        assert result == TTest(0.0, 0.0, 1.0)
    same = welch_t_test([0.5 + shift] * 3, [0.5] * 4)
    assert same.p_value == (0.0 if shift else 1.0)


def test_one_sample_without_spread_is_tested_as_any() -> None:
    # Against a constant, Welch's test is that of one sample.
    values = [0.81, 0.83, 0.84, 0.82]
    expected = stats.ttest_1samp(values, 0.8)
    result = welch_t_test([0.8] * 5, values)
    assert (result.statistic, result.p_value) == pytest.approx((-expected.statistic, expected.pvalue))


@pytest.mark.parametrize("test", [paired_t_test, welch_t_test])
def test_under_no_difference_p_values_are_uniform(test: Callable[[ArrayLike, ArrayLike], TTest]) -> None:
    draws = np.random.default_rng(3).normal(size=(400, 2, 8))
    assert stats.kstest([test(a, b).p_value for a, b in draws], "uniform").pvalue > 0.01


def test_a_result_does_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        paired_t_test([1.0, 2.0], [0.0, 3.0]).p_value = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_an_interval_of_shares_is_binomial(level: float) -> None:
    # The mean of a resample of zeros and ones is binomial, so its quantiles are known.
    values = np.repeat([0.0, 1.0], [13, 7])
    expected = stats.binom.ppf([(1 - level) / 2, (1 + level) / 2], 20, 7 / 20) / 20
    assert bootstrap_interval(values, level, resamples=20_000) == pytest.approx(tuple(expected))


def test_an_interval_of_many_values_is_normal() -> None:
    values = np.random.default_rng(4).exponential(size=2000)
    low, high = bootstrap_interval(values, 0.9, resamples=4000)
    error = values.std() / 2000**0.5
    assert (low, high) == pytest.approx(stats.norm.interval(0.9, values.mean(), error), abs=0.1 * error)


def test_the_interval_is_that_of_scipy() -> None:
    values = np.random.default_rng(5).normal(size=12)
    theirs = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=10_000).confidence_interval
    assert bootstrap_interval(values) == pytest.approx((theirs.low, theirs.high), abs=0.05 * values.std())


def test_the_interval_follows_from_its_seed() -> None:
    values = np.random.default_rng(6).normal(size=9)
    assert bootstrap_interval(values, seed=1) == bootstrap_interval(values, seed=1)
    assert bootstrap_interval(values, seed=1) != bootstrap_interval(values, seed=2)


def test_one_value_is_its_own_interval() -> None:
    assert bootstrap_interval([0.3], resamples=10) == (0.3, 0.3)


@pytest.mark.parametrize(
    ("p", "mark"),
    [(0.0, "‡"), (0.00099, "‡"), (0.001, "†"), (0.0099, "†"), (0.01, "*"), (0.049, "*"), (0.05, ""), (1.0, "")],
)
def test_marks_of_significance(p: float, mark: str) -> None:
    assert significance(p) == mark


@pytest.mark.parametrize("p", [-0.1, 1.1, float("nan")])
def test_what_is_no_probability_has_no_mark(p: float) -> None:
    with pytest.raises(ValueError, match=r"p must lie in \[0, 1\]"):
        significance(p)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([0.5], [0.4], "a must be one-dimensional with at least 2 values"),
        ([0.5, 0.4], [[0.1, 0.2]], "b must be one-dimensional with at least 2 values"),
        ([0.5, 0.4], [0.1, float("nan")], "b must be finite, got nan at position 1"),
        ([float("-inf"), 0.4], [0.1, 0.2], "a must be finite, got -inf at position 0"),
    ],
)
def test_samples_that_cannot_be_tested_are_refused(a: ArrayLike, b: ArrayLike, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_t_test(a, b)
    with pytest.raises(ValueError, match=message):
        welch_t_test(a, b)


def test_pairs_need_partners() -> None:
    with pytest.raises(ValueError, match="a has 3 scores and b 2: pair them, or use welch_t_test"):
        paired_t_test([1.0, 2.0, 3.0], [1.0, 2.0])


def test_bad_intervals_are_refused() -> None:
    with pytest.raises(ValueError, match="values must be one-dimensional with at least 1 value"):
        bootstrap_interval([])
    for level in (0.0, 1.0, 95.0):
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            bootstrap_interval([1.0], level)
    with pytest.raises(ValueError, match="resamples must be at least 1, got 0"):
        bootstrap_interval([1.0], resamples=0)
