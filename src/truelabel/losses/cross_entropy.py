"""Cross entropy, the loss that everything else is compared with."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from truelabel.losses.loss import from_logits
from truelabel.types import Batch, Prediction


@dataclass(frozen=True)
class CrossEntropy:
    r"""Negative log likelihood of what was said: :math:`-\log p(\tilde y \mid x)`.

    With soft targets :math:`q` it is :math:`-\sum_k q_k \log p(\tilde y = k \mid x)`; these need not sum to one.
    A density is welcome: minus its logarithm is a proper loss too.

    Example:
        >>> import torch
        >>> from truelabel.losses import from_logits
        >>> from_logits(CrossEntropy(), torch.zeros(1, 2), torch.tensor([1]))
        tensor([0.6931])
    """

    def __call__(self, prediction: Prediction, batch: Batch) -> Tensor:
        if batch.soft is None:
            return -prediction.noisy.at(batch.labels)
        return -(batch.soft * prediction.noisy.all()).sum(-1)


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    r"""Cross entropy :math:`-\log p_{\tilde y}` for one's own loop.

    Args:
        logits: ``(*U, K)``.
        labels: ``(*U,)`` integers, -1 where missing, or soft targets ``(*U, K)``.

    Returns:
        ``(*U,)`` unreduced.

    Example:
        >>> import torch
        >>> cross_entropy(torch.tensor([[0.0, 0.0], [0.0, 0.0]]), torch.tensor([1, -1]))
        tensor([0.6931, 0.0000])
    """
    return from_logits(CrossEntropy(), logits, labels)
