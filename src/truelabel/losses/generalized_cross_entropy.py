"""Generalized cross entropy (Zhang & Sabuncu 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from truelabel.losses.loss import from_logits, require_probabilities
from truelabel.types import Batch, Prediction


@dataclass(frozen=True)
class GeneralizedCrossEntropy:
    r"""Between cross entropy and mean absolute error: :math:`(1 - p_{\tilde y}^q) / q`.

    It is bounded by :math:`1/q`, so a label that the network holds for impossible costs little more than an unlikely
    one. :math:`q \to 0` is cross entropy and :math:`q = 1` is one minus the probability. Truncation and pruning are
    left out; whether Englesson 2023 used them is not known.

    Args:
        q: in (0, 1]; 0.7 in the paper.

    Example:
        >>> import torch
        >>> from truelabel.losses import from_logits
        >>> from_logits(GeneralizedCrossEntropy(q=1.0), torch.zeros(1, 2), torch.tensor([1]))
        tensor([0.5000])
    """

    q: float = 0.7

    def __post_init__(self) -> None:
        if not 0 < self.q <= 1:
            raise ValueError(f"q must lie in (0, 1], got {self.q!r}: use cross entropy for q = 0")

    def __call__(self, prediction: Prediction, batch: Batch) -> Tensor:
        require_probabilities(prediction, "generalized cross entropy")
        if batch.soft is None:
            return self._cost(prediction.noisy.at(batch.labels))
        return (batch.soft * self._cost(prediction.noisy.all())).sum(-1)

    def _cost(self, log_probs: Tensor) -> Tensor:
        # In log space: p^q has an infinite slope at zero.
        return -torch.expm1(self.q * log_probs) / self.q


def generalized_cross_entropy(logits: Tensor, labels: Tensor, q: float = 0.7) -> Tensor:
    r"""Generalized cross entropy :math:`(1 - p_{\tilde y}^q) / q` for one's own loop (Zhang & Sabuncu 2018).

    Args:
        logits: ``(*U, K)``.
        labels: ``(*U,)`` integers, -1 where missing, or soft targets ``(*U, K)``.
        q: in (0, 1].

    Returns:
        ``(*U,)`` unreduced, in [0, 1/q].

    Example:
        >>> import torch
        >>> generalized_cross_entropy(torch.zeros(1, 4), torch.tensor([2]), q=1.0)
        tensor([0.7500])
    """
    return from_logits(GeneralizedCrossEntropy(q), logits, labels)
