"""Which examples count, and for whom."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn


class Selector(nn.Module, ABC):
    """Weights from losses: ``(losses (M, N), predicted (M, *U), labelled (N,), progress ()) -> weights (M, N)``.

    The step minimises, summed over peers, the mean over examples of weight times loss; the selector owns its own
    denominator. It sees the *global* batch, detached, in the same order on every process, so its state (buffers) stays
    equal everywhere. Nothing in it may depend on the values of tensors in Python: selection is by weight, never by
    boolean index.

    - ``losses``: the surprise (see :class:`~truelabel.types.Step`) of an example's labels on average, whatever their
      number: the loss of a label, in a form that can be compared between examples.
    - ``predicted``: the most probable clean class according to each peer.
    - ``labelled``: boolean; an example without labels has no loss, is not selected, and does not count as one.
    - ``progress``: the share of all optimiser steps already taken, in [0, 1).
    """

    selects: ClassVar[bool] = True
    """False if every weight is always one: the step then asks for no weights, and pays for no selection."""

    @abstractmethod
    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor: ...

    def __call__(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        with torch.no_grad():
            weights: Tensor = super().__call__(losses, predicted, labelled, progress)
        return weights


class KeepAll(Selector):
    """Every example counts once for every peer: ordinary training.

    Example:
        >>> labelled = torch.tensor([True, True])
        >>> KeepAll()(torch.tensor([[0.1, 2.0]]), torch.tensor([[0, 1]]), labelled, torch.tensor(0.0))
        tensor([[1., 1.]])
    """

    selects = False

    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        return torch.ones_like(losses)


def mean_over(kept: Tensor, least: float = 0.0) -> Tensor:
    """Weights that turn the step's mean over the batch into a mean over what is kept.

    Args:
        kept: ``(M, N)``, not negative: zeros and ones, or shares.
        least: the share of the batch that the mean is over at least, so that a single example cannot count for a batch.

    Returns:
        ``(M, N)`` with mean one in every row that keeps enough; zeros where a row keeps nothing.

    Example:
        >>> mean_over(torch.tensor([[1.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 0.0]]))
        tensor([[2., 0., 2., 0.],
                [0., 0., 0., 0.]])
    """
    total = kept.sum(-1, keepdim=True).clamp_min(least * kept.shape[-1])
    return kept * (kept.shape[-1] / torch.where(total > 0, total, 1.0))
