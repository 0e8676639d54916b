"""Is the difference one? Tests and intervals for scores of several seeds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_ROUNDING = 1e-13
"""Values whose relative spread is below this are equal up to rounding."""

_LEVELS = ((0.001, "‡"), (0.01, "†"), (0.05, "*"))


@dataclass(frozen=True)
class TTest:
    """Outcome of a two-tailed t-test.

    Attributes:
        difference: mean of ``a`` minus mean of ``b``.
        statistic: t, the difference in units of its standard error.
        p_value: probability of a difference at least as large if there were none.

    Example:
        >>> paired_t_test([3.0, 5.0], [2.0, 2.0]).statistic
        2.0
    """

    difference: float
    statistic: float
    p_value: float


def paired_t_test(a: ArrayLike, b: ArrayLike) -> TTest:
    r"""Two-tailed t-test of scores that belong together in pairs, such as those of equal seeds.

    .. math:: t = \frac{\bar d}{s_d / \sqrt n}, \quad d_i = a_i - b_i, \quad n - 1 \text{ degrees of freedom}

    It is the test of the tables of Collier 2020, with 25 seeds. Differences that are all the same have no spread: then
    p is 1 if they are zero, and 0 otherwise.

    Args:
        a: ``(n,)`` scores of one method, n of at least 2.
        b: ``(n,)`` scores of another, in the same order of seeds.

    Example:
        >>> result = paired_t_test([0.81, 0.83, 0.82], [0.80, 0.81, 0.79])
        >>> round(result.difference, 4), round(result.p_value, 4)
        (0.02, 0.0742)
    """
    from scipy import stats

    x, y = _scores(a, "a", 2), _scores(b, "b", 2)
    if len(x) != len(y):
        raise ValueError(f"a has {len(x)} scores and b {len(y)}: pair them, or use welch_t_test")
    d = x - y
    if np.ptp(d) <= _ROUNDING * max(np.abs(x).max(), np.abs(y).max()):
        return _without_spread(x, y)
    result = stats.ttest_rel(x, y)
    return TTest(float(d.mean()), float(result.statistic), float(result.pvalue))


def welch_t_test(a: ArrayLike, b: ArrayLike) -> TTest:
    r"""Two-tailed t-test of two independent samples whose variances may differ (Welch 1947).

    .. math:: t = \frac{\bar a - \bar b}{\sqrt{s_a^2 / n_a + s_b^2 / n_b}}

    If neither sample has any spread, p is 1 for equal and 0 for unequal means.

    Args:
        a: ``(n_a,)`` scores, at least 2.
        b: ``(n_b,)`` scores, at least 2.

    Example:
        >>> result = welch_t_test([0.81, 0.83, 0.82], [0.80, 0.81, 0.79, 0.80])
        >>> round(result.difference, 4), round(result.p_value, 4)
        (0.02, 0.0495)
    """
    from scipy import stats

    x, y = _scores(a, "a", 2), _scores(b, "b", 2)
    if max(np.ptp(x), np.ptp(y)) <= _ROUNDING * max(np.abs(x).max(), np.abs(y).max()):
        return _without_spread(x, y)
    # From moments, because ttest_ind warns when one of the two samples has no spread.
    result = stats.ttest_ind_from_stats(
        x.mean(), x.std(ddof=1), len(x), y.mean(), y.std(ddof=1), len(y), equal_var=False
    )
    return TTest(float(x.mean() - y.mean()), float(result.statistic), float(result.pvalue))


def bootstrap_interval(
    values: ArrayLike, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    r"""Percentile bootstrap interval of a mean (Efron 1979).

    Draws n of the n values with replacement, again and again, and takes the quantiles :math:`(1 \mp level) / 2` of the
    means. With a handful of values it is too narrow: three seeds have only ten different resamples.

    Args:
        values: ``(n,)``, such as scores of seeds, or right and wrong of examples.
        level: probability that the interval should cover the mean.
        resamples: how many means are drawn.
        seed: for the draws.

    Returns:
        Lower and upper end.

    Example:
        >>> low, high = bootstrap_interval([0.81, 0.83, 0.82, 0.85, 0.79])
        >>> round(low, 3), round(high, 3)
        (0.802, 0.836)
    """
    x = _scores(values, "values", 1)
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, got {level}")
    if resamples < 1:
        raise ValueError(f"resamples must be at least 1, got {resamples}")
    rng = np.random.default_rng(seed)
    means = [x[rng.integers(len(x), size=len(x))].mean() for _ in range(resamples)]
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def significance(p: float) -> str:
    """The mark of a p-value in the tables of Collier 2020: ‡ below 0.001, † below 0.01, * below 0.05, else nothing.

    Example:
        >>> [significance(p) for p in (0.0004, 0.004, 0.04, 0.4)]
        ['‡', '†', '*', '']
    """
    if not 0 <= p <= 1:
        raise ValueError(f"p must lie in [0, 1], got {p}")
    return next((mark for level, mark in _LEVELS if p < level), "")


def _without_spread(x: NDArray[np.float64], y: NDArray[np.float64]) -> TTest:
    difference = float(x.mean() - y.mean())
    if abs(difference) <= _ROUNDING * max(np.abs(x).max(), np.abs(y).max()):
        return TTest(0.0, 0.0, 1.0)
    return TTest(difference, math.copysign(math.inf, difference), 0.0)


def _scores(values: ArrayLike, name: str, least: int) -> NDArray[np.float64]:
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != 1 or len(x) < least:
        raise ValueError(f"{name} must be one-dimensional with at least {least} values, got shape {x.shape}")
    if not np.isfinite(x).all():
        raise ValueError(f"{name} must be finite, got {x[~np.isfinite(x)][0]} at position {np.argmin(np.isfinite(x))}")
    return x
