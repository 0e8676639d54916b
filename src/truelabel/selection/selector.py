"""Which examples count, and for whom."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


class Selector(nn.Module, ABC):
    """Weights from losses: ``(losses (M, N), predicted (M, *U), progress ()) -> weights (M, N)``.

    The step minimises, summed over peers, the mean over examples of ``weights * losses``; the selector owns its own
    denominator. It sees the losses of the *global* batch, detached, in the same order on every process, so its state
    (buffers) stays equal everywhere. ``progress`` is the share of all optimiser steps already taken, in [0, 1). Nothing
    in a selector may depend on the values of tensors in Python: selection is by weight, never by boolean index.
    """

    @abstractmethod
    def forward(self, losses: Tensor, predicted: Tensor, progress: Tensor) -> Tensor: ...

    def __call__(self, losses: Tensor, predicted: Tensor, progress: Tensor) -> Tensor:
        weights: Tensor = super().__call__(losses, predicted, progress)
        return weights


class KeepAll(Selector):
    """Every example counts once for every peer: ordinary training.

    Example:
        >>> KeepAll()(torch.tensor([[0.1, 2.0]]), torch.tensor([[0, 1]]), torch.tensor(0.0))
        tensor([[1., 1.]])
    """

    def forward(self, losses: Tensor, predicted: Tensor, progress: Tensor) -> Tensor:
        return torch.ones_like(losses)
