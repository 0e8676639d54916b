"""Which numbers in masks mean which class."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

MISSING = -1  # as in truelabel.types, which needs torch
Classes = int | Sequence[int] | Sequence[str] | Mapping[int, str | int]
"""How many classes there are, the values that stand for them, the names of 0, 1, 2, …, or the name of each value."""

WHITE = 255


def named_values(classes: Classes | None) -> dict[int, str | int] | None:
    """The name of every value that may occur in a mask, in the order of the classes; None if nobody said.

    Example:
        >>> named_values(("background", "lesion"))
        {0: 'background', 1: 'lesion'}
        >>> named_values([0, 4])
        {0: 0, 4: 4}
    """
    if classes is None:
        return None
    if isinstance(classes, str):
        raise TypeError(f"classes is the text {classes!r}: pass a list of names, [{classes!r}]")
    if isinstance(classes, int):
        named: dict[int, str | int] = {value: value for value in range(classes)}
    elif isinstance(classes, Mapping):
        named = dict(classes)
    elif all(isinstance(name, str) for name in classes):
        named = dict(enumerate(classes))
    else:
        named = {int(value): int(value) for value in classes}
    size = classes if isinstance(classes, int) else len(classes)
    if len(set(named.values())) != size:
        raise ValueError(f"classes {classes} name one of them twice: give each class its own")
    if not named or min(named) < 0:
        raise ValueError(f"classes {classes} hold no value of at least 0, or one below: pass those that masks hold")
    return named


def void_values(void: int | Collection[int] | None) -> frozenset[int]:
    """The values that mean "no label"."""
    return frozenset() if void is None else frozenset({void} if isinstance(void, int) else void)


def white_is_one(found: Collection[int], known: Collection[int] | None, void: Collection[int]) -> bool:
    """Whether 255 stands for class 1, as in masks of black and white.

    It does where 255 occurs with nothing but 0, and nobody says otherwise: 255 is neither void nor a class, and there
    are no classes known but 0 and 1.

    Args:
        found: values in the mask.
        known: values that may occur, or None.
        void: values that mean "no label".
    """
    others = set(found) - {MISSING, 0}
    return others == {WHITE} and WHITE not in void and (known is None or set(known) == {0, 1})


def distinct(values: npt.NDArray[np.integer[Any]]) -> list[int]:
    """The values that occur, sorted; ``values`` are at least -1."""
    if values.size and values.max() < 1 << 16:
        counts = np.bincount(values.ravel().astype(np.int32) + 1)
        return [int(value) - 1 for value in np.flatnonzero(counts)]
    return [int(value) for value in np.unique(values)]
