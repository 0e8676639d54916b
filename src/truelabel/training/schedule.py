"""Which examples come when, and how far the training is."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from lightning_fabric import Fabric
from torch import Tensor

from truelabel.training.config import TrainingConfig


class Schedule:
    """Full batches only, cut into equal shares for the processes; progress as a tensor that fit fills.

    Args:
        config: batch size and epochs.
        examples: that are trained on.
        fabric: the engine, launched.

    Attributes:
        batch: examples of a step, of all processes together.
        steps: of an epoch.
        total: of the training.
        progress: from 0 to 1, on the device.
    """

    def __init__(self, config: TrainingConfig, examples: int, fabric: Fabric) -> None:
        world = fabric.world_size
        self.batch = min(config.batch_size, examples) // world * world
        if not self.batch:
            raise ValueError(f"a batch of {min(config.batch_size, examples)} cannot be shared by {world} processes")
        self.steps = examples // self.batch
        self.total = self.steps * config.epochs
        self.progress = torch.zeros((), device=fabric.device)

    def batches(self, train: Tensor, generator: torch.Generator, fabric: Fabric) -> Sequence[Tensor]:
        order = torch.randperm(len(train), generator=generator)[: self.steps * self.batch]
        shares = order.view(self.steps, fabric.world_size, -1)[:, fabric.global_rank]
        return train[shares.to(train.device)].unbind(0)

    def fill_progress(self, epoch: int, step: int) -> None:
        self.progress.fill_((epoch * self.steps + step) / self.total)
