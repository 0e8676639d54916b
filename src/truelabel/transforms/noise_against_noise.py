"""Noise against noise: random targets that regularise (Chen 2020)."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from truelabel.types import Batch


@dataclass(frozen=True)
class NoiseAgainstNoise:
    r"""Targets :math:`e_{\tilde y} + \sigma \xi` with fresh :math:`\xi \sim N(0, I_K)` at every step.

    They may be negative and do not sum to one. Averaging of weights and label correction are left out; whether
    Englesson 2023 used them is not known.

    Args:
        classes: K.
        sigma: strength; 0.5 in the paper.

    Example:
        >>> labels = torch.tensor([[1], [-1]])
        >>> batch = Batch(torch.zeros(2, 1), labels, labels, torch.ones(2, 1), None, torch.arange(2))
        >>> NoiseAgainstNoise(classes=3, sigma=0.0)(batch).soft[0]
        tensor([[0., 1., 0.]])
    """

    classes: int
    sigma: float = 0.5

    def __post_init__(self) -> None:
        if not self.sigma >= 0:
            raise ValueError(f"sigma must not be negative, got {self.sigma!r}")

    def __call__(self, batch: Batch) -> Batch:
        soft = batch.soft
        if soft is None:
            soft = torch.zeros(*batch.labels.shape, self.classes, device=batch.labels.device)
            soft.scatter_(-1, batch.labels.clamp_min(0).unsqueeze(-1), 1.0)
        return batch._replace(soft=soft + self.sigma * torch.randn_like(soft))
