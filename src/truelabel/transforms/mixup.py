"""Mixup (Zhang 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch.distributions import Beta

from truelabel.types import Batch


@dataclass(frozen=True)
class Mixup:
    r"""Convex combinations of pairs: inputs :math:`m x_i + (1-m) x_j`, and the labels of both with weights m and 1-m.

    One :math:`m \sim \mathrm{Beta}(\alpha, \alpha)` a batch, j a permutation. The slots of both examples are joined, so
    labels stay hard and each keeps its annotator; cross entropy on them is cross entropy on the mixed target.

    Args:
        alpha: 1 in the paper's CIFAR experiments.

    Example:
        >>> inputs = torch.tensor([[0.0], [1.0]])
        >>> slots = torch.tensor([[3], [5]])
        >>> batch = Batch(inputs, slots, torch.zeros_like(slots), torch.ones(2, 1), None, torch.arange(2))
        >>> Mixup()(batch).labels.shape
        torch.Size([2, 2])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise ValueError(f"alpha must be positive, got {self.alpha!r}")

    def __call__(self, batch: Batch) -> Batch:
        inputs = batch.inputs
        # Not torch.randperm, which a CUDA graph cannot hold; and no check of arguments, which would wait for the GPU.
        other = torch.rand(len(inputs), device=inputs.device).argsort()
        alpha = torch.full((), self.alpha, dtype=inputs.dtype, device=inputs.device)
        share = Beta(alpha, alpha, validate_args=False).sample()
        return batch._replace(
            inputs=torch.lerp(inputs[other], inputs, share),
            labels=torch.cat([batch.labels, batch.labels[other]], -1),
            annotators=torch.cat([batch.annotators, batch.annotators[other]], -1),
            weights=torch.cat([share * batch.weights, (1 - share) * batch.weights[other]], -1),
            soft=None if batch.soft is None else torch.cat([batch.soft, batch.soft[other]], -2),
        )
