"""The contract of a reader: what one person makes of a true mask."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch

from truelabel.corruption.true_mask import Mask, TrueMask


@runtime_checkable
class Reader(Protocol):
    """Draws a mask: ``(truth, generator) -> mask (*space)``, all chance from the generator, the truth left alone.

    Example:
        >>> isinstance(Faithful(), Reader)
        True
    """

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask: ...


@dataclass(frozen=True)
class Faithful:
    """Draws the truth: the good reader.

    Example:
        >>> Faithful()(TrueMask([[0, 1]]), torch.Generator()).tolist()
        [[0, 1]]
    """

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        return truth.mask.copy()


@dataclass(frozen=True)
class Blank:
    """Draws nothing: all is background.

    Example:
        >>> Blank()(TrueMask([[0, 1]]), torch.Generator()).tolist()
        [[0, 0]]
    """

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        return np.zeros_like(truth.mask)


@dataclass(frozen=True)
class Chain:
    """Several readers in turn, each of whom takes what the one before drew for the truth.

    Args:
        readers: the first to draw first.

    Example:
        >>> Chain(Faithful(), Blank())(TrueMask([[0, 1]]), torch.Generator()).tolist()
        [[0, 0]]
    """

    readers: tuple[Reader, ...]

    def __init__(self, *readers: Reader) -> None:
        if not readers:
            raise ValueError("readers must be at least one")
        object.__setattr__(self, "readers", readers)

    def __call__(self, truth: TrueMask, generator: torch.Generator) -> Mask:
        for reader in self.readers:
            truth = TrueMask(reader(truth, generator))
        return truth.mask


def whole_number(amount: float, generator: torch.Generator) -> int:
    """A whole number whose mean is ``amount``: one of the two that enclose it.

    For the same draw it never falls as the amount grows, so that strengths in between can be searched for.

    Example:
        >>> [whole_number(2.5, torch.Generator().manual_seed(seed)) for seed in range(4)]
        [3, 2, 3, 2]
    """
    return int(amount + torch.rand((), generator=generator, dtype=torch.double).item())
