"""Mixup (Zhang 2018)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

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
        >>> Mixup()(batch, torch.Generator().manual_seed(0)).labels.shape
        torch.Size([2, 2])
    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        if not self.alpha > 0:
            raise ValueError(f"alpha must be positive, got {self.alpha!r}")

    def __call__(self, batch: Batch, generator: torch.Generator) -> Batch:
        n, device = len(batch.index), batch.inputs.device
        other = torch.randperm(n, generator=generator).to(device)
        seed = int(torch.randint(2**62, (), generator=generator))
        share = torch.tensor(np.random.default_rng(seed).beta(self.alpha, self.alpha), dtype=batch.inputs.dtype).to(
            device
        )
        return batch._replace(
            inputs=torch.lerp(batch.inputs[other], batch.inputs, share),
            labels=torch.cat([batch.labels, batch.labels[other]], -1),
            annotators=torch.cat([batch.annotators, batch.annotators[other]], -1),
            weights=torch.cat([share * batch.weights, (1 - share) * batch.weights[other]], -1),
            soft=None if batch.soft is None else torch.cat([batch.soft, batch.soft[other]], -2),
        )
