"""Checks of what users pass, in one line that names the argument."""

from __future__ import annotations

import math
from numbers import Integral, Real


def check_amount(name: str, value: object) -> None:
    """Raise a ValueError if ``value`` is no finite number of at least 0.

    Example:
        >>> check_amount("trace", -1)
        Traceback (most recent call last):
        ...
        ValueError: trace must be a number of at least 0, got -1
    """
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) < math.inf:
        raise ValueError(f"{name} must be a number of at least 0, got {value!r}")


def check_between(name: str, value: object) -> None:
    """Raise a ValueError if ``value`` is no number between 0 and 1, both excluded.

    Example:
        >>> check_between("start", 1.0)
        Traceback (most recent call last):
        ...
        ValueError: start must lie between 0 and 1, got 1.0
    """
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Raise a ValueError if ``value`` is no whole number of at least ``least``.

    Example:
        >>> check_whole("rounds", 2.5)
        Traceback (most recent call last):
        ...
        ValueError: rounds must be a whole number of at least 1, got 2.5
    """
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_flag(name: str, value: object) -> None:
    """Raise a ValueError if ``value`` is not True or False.

    Example:
        >>> check_flag("soft", "yes")
        Traceback (most recent call last):
        ...
        ValueError: soft must be true or false, got 'yes'
    """
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be true or false, got {value!r}")
