"""Importance reweighting (Liu & Tao 2016)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from truelabel.losses.loss import as_batch, require_probabilities
from truelabel.types import Batch, Categorical, Prediction, mix

MOST = 50.0
"""Largest logarithm of a weight."""


@dataclass(frozen=True)
class Reweight:
    r"""Cross entropy of the clean class, weighted by how much likelier the label is true than said.

    .. math:: w \cdot (-\log p(y = \tilde y \mid x)), \quad w = \frac{p(y = \tilde y \mid x)}{p(\tilde y \mid x)}

    Args:
        attached: let the gradient flow through w; T-revision needs that, because its slack acts through w alone.

    Example:
        >>> import torch
        >>> from truelabel.losses import from_logits
        >>> from_logits(Reweight(), torch.zeros(1, 2), torch.tensor([1]))
        tensor([0.6931])
    """

    attached: bool = False

    def __call__(self, prediction: Prediction, batch: Batch) -> Tensor:
        require_probabilities(prediction, "reweight")
        if batch.soft is not None:
            clean = prediction.clean.unsqueeze(-2)
            return (batch.soft * self._cost(clean, prediction.noisy.all())).sum(-1)
        clean = Categorical(prediction.clean.unsqueeze(-2)).at(batch.labels)
        return self._cost(clean, prediction.noisy.at(batch.labels))

    def _cost(self, clean: Tensor, noisy: Tensor) -> Tensor:
        # Bounded far above anything that a transition with a positive diagonal can give.
        weight = (clean - noisy).clamp_max(MOST).exp()
        return -(weight if self.attached else weight.detach()) * clean


def reweight(logits: Tensor, labels: Tensor, transition: Tensor | None = None, *, attached: bool = False) -> Tensor:
    r"""Reweighted cross entropy :math:`-p_{\tilde y} \log p_{\tilde y} / (p^\top T)_{\tilde y}` for one's own loop.

    Args:
        logits: ``(*U, K)`` of the clean class.
        labels: ``(*U,)`` integers, -1 where missing, or soft targets ``(*U, K)``.
        transition: ``(K, K)``, ``[true, observed]``; the identity, which gives cross entropy, if None.
        attached: let the gradient flow through the weight.

    Returns:
        ``(*U,)`` unreduced.

    Example:
        >>> import torch
        >>> T = torch.tensor([[0.8, 0.2], [0.2, 0.8]])
        >>> reweight(torch.zeros(1, 2), torch.tensor([0]), T)
        tensor([0.6931])
    """
    clean = logits.log_softmax(-1)
    noisy = clean if transition is None else mix(clean, transition)
    prediction = Prediction(clean, Categorical(noisy.unsqueeze(-2)), logits.new_zeros(()))
    return as_batch(Reweight(attached), prediction, labels)
