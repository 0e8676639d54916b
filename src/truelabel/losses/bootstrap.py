"""Bootstrapping: trust the label in part, one's own prediction for the rest (Reed 2014)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from truelabel.losses.cross_entropy import CrossEntropy
from truelabel.losses.loss import from_logits, require_probabilities
from truelabel.types import Batch, Prediction


@dataclass(frozen=True)
class SoftBootstrap:
    r"""Cross entropy against the label mixed with the prediction.

    .. math:: -\sum_k [\beta e_{\tilde y} + (1-\beta) p]_k \log p_k

    It equals :math:`\beta` times cross entropy plus :math:`1-\beta` times the entropy of the prediction. The gradient
    flows through the target, as in the paper.

    Args:
        beta: trust in the label; 0.95 in the paper.
        detach: let no gradient flow through the target.

    Example:
        >>> import torch
        >>> from truelabel.losses import from_logits
        >>> from_logits(SoftBootstrap(), torch.zeros(1, 2), torch.tensor([1]))
        tensor([0.6931])
    """

    beta: float = 0.95
    detach: bool = False

    def __post_init__(self) -> None:
        _check(self.beta)

    def __call__(self, prediction: Prediction, batch: Batch) -> Tensor:
        require_probabilities(prediction, "soft bootstrap")
        log_probs = prediction.noisy.all()
        probs = log_probs.detach().exp() if self.detach else log_probs.exp()
        entropy = -(probs * log_probs).sum(-1)
        return self.beta * CrossEntropy()(prediction, batch) + (1 - self.beta) * entropy


@dataclass(frozen=True)
class HardBootstrap:
    r"""Cross entropy against the label and against the class predicted.

    .. math:: -\beta \log p_{\tilde y} - (1-\beta) \log \max_k p_k

    No gradient flows through the choice of that class.

    Args:
        beta: trust in the label; 0.8 in the paper.

    Example:
        >>> import torch
        >>> from truelabel.losses import from_logits
        >>> from_logits(HardBootstrap(), torch.zeros(1, 2), torch.tensor([1]))
        tensor([0.6931])
    """

    beta: float = 0.8

    def __post_init__(self) -> None:
        _check(self.beta)

    def __call__(self, prediction: Prediction, batch: Batch) -> Tensor:
        require_probabilities(prediction, "hard bootstrap")
        own = prediction.noisy.all().amax(-1)
        return self.beta * CrossEntropy()(prediction, batch) - (1 - self.beta) * own


def soft_bootstrap(logits: Tensor, labels: Tensor, beta: float = 0.95, *, detach: bool = False) -> Tensor:
    r"""Soft bootstrap :math:`-\sum_k [\beta e_{\tilde y} + (1-\beta) p]_k \log p_k` for one's own loop (Reed 2014).

    Args:
        logits: ``(*U, K)``.
        labels: ``(*U,)`` integers, -1 where missing, or soft targets ``(*U, K)``.
        beta: trust in the label.
        detach: let no gradient flow through the target.

    Returns:
        ``(*U,)`` unreduced.

    Example:
        >>> import torch
        >>> soft_bootstrap(torch.zeros(1, 2), torch.tensor([0]), beta=0.5)
        tensor([0.6931])
    """
    return from_logits(SoftBootstrap(beta, detach), logits, labels)


def hard_bootstrap(logits: Tensor, labels: Tensor, beta: float = 0.8) -> Tensor:
    r"""Hard bootstrap :math:`-\beta \log p_{\tilde y} - (1-\beta) \log \max_k p_k` for one's own loop (Reed 2014).

    Args:
        logits: ``(*U, K)``.
        labels: ``(*U,)`` integers, -1 where missing, or soft targets ``(*U, K)``.
        beta: trust in the label.

    Returns:
        ``(*U,)`` unreduced.

    Example:
        >>> import torch
        >>> hard_bootstrap(torch.tensor([[0.0, 100.0]]), torch.tensor([0]), beta=0.8)
        tensor([80.])
    """
    return from_logits(HardBootstrap(beta), logits, labels)


def _check(beta: float) -> None:
    if not 0 <= beta <= 1:
        raise ValueError(f"beta must lie in [0, 1], got {beta!r}")
