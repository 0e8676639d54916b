"""The contract of a loss."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch
from torch import Tensor

from truelabel.types import Batch, Categorical, Prediction


@runtime_checkable
class Loss(Protocol):
    """What a label costs: ``(Prediction, Batch) -> (*U, S)``, one value per slot, never reduced or normalised.

    A loss asks for ``noisy.at(labels)`` whenever labels are hard, and for ``noisy.all()`` only with soft targets. What
    is missing is left to the learner, which masks empty slots. A loss that needs probabilities refuses a density
    (``noisy.normalised`` is False) with :func:`require_probabilities`.

    Example:
        >>> from truelabel.losses import CrossEntropy
        >>> isinstance(CrossEntropy(), Loss)
        True
    """

    def __call__(self, prediction: Prediction, batch: Batch) -> Tensor: ...


def require_probabilities(prediction: Prediction, loss: str) -> None:
    """Raise a ValueError if the noise model gives a density, whose values may exceed one.

    Example:
        >>> log_probs = torch.zeros(1, 1)
        >>> require_probabilities(Prediction(log_probs, Categorical(log_probs), torch.zeros(())), "a loss")
    """
    if not prediction.noisy.normalised:
        raise ValueError(f"{loss} needs probabilities, but this noise model gives a density: use cross entropy with it")


def from_logits(loss: Loss, logits: Tensor, labels: Tensor) -> Tensor:
    """A loss for one's own training loop: normalises the logits once, and takes one label a unit.

    Args:
        loss: any :class:`Loss`.
        logits: ``(*U, K)``.
        labels: ``(*U,)`` integers, -1 where missing, or soft targets ``(*U, K)``.

    Returns:
        ``(*U,)`` unreduced; zero where the label is missing.

    Example:
        >>> from truelabel.losses import CrossEntropy
        >>> from_logits(CrossEntropy(), torch.zeros(1, 2), torch.tensor([1]))
        tensor([0.6931])
    """
    log_probs = logits.log_softmax(-1)
    return as_batch(loss, Prediction(log_probs, Categorical(log_probs.unsqueeze(-2)), logits.new_zeros(())), labels)


def as_batch(loss: Loss, prediction: Prediction, labels: Tensor) -> Tensor:
    """A loss of one label a unit, outside a learner: ``(*U,)`` unreduced; zero where the label is missing."""
    clean = prediction.clean
    units = clean.shape[:-1]
    if labels.shape == clean.shape and labels.is_floating_point():
        soft, hard = labels.unsqueeze(-2), torch.zeros(units, dtype=torch.long, device=clean.device)
    elif labels.shape == units and not labels.is_floating_point():
        soft, hard = None, labels.long()
    else:
        raise ValueError(
            f"labels must be integers {tuple(units)} or floats {tuple(clean.shape)}, "
            f"got {labels.dtype} {tuple(labels.shape)}"
        )
    slots = torch.zeros(units[0] if units else 1, 1, dtype=torch.long, device=clean.device)
    batch = Batch(clean, hard.unsqueeze(-1), slots, torch.ones_like(slots, dtype=clean.dtype), soft, slots[:, 0])
    return torch.where(hard >= 0, loss(prediction, batch).squeeze(-1), 0.0)
