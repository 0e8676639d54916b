"""How well a learner predicts the labels that people gave."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from lightning_fabric import Fabric
from torch import Tensor

from truelabel.learners import Learner
from truelabel.training.data import TrainingSet

CHUNK = 1024
"""Examples scored at once; pixels are scored in proportionally smaller chunks."""


@torch.no_grad()
def noisy_scores(fabric: Fabric, learner: Learner, data: TrainingSet, index: Tensor) -> dict[str, float]:
    """Mean loss, and share of given labels that equal the predicted class, over the examples at ``index``.

    These are the numbers that choose an epoch: they see noisy labels only, never the truth.
    """
    loss = torch.zeros((), dtype=torch.double, device=data.device)
    right, given = torch.zeros_like(loss), torch.zeros_like(loss)
    learner.eval()
    for part in chunks(index, data):
        batch = data.batch(part)
        with fabric.autocast():
            step = learner(batch)
        match = (step.predicted.unsqueeze(-1) == batch.labels) & (batch.labels >= 0)
        loss += step.losses.double().sum()
        right += match.sum()
        given += (batch.labels >= 0).sum()
    return {"valid_loss": (loss / len(index)).item(), "valid_accuracy": (right / given.clamp_min(1)).item()}


def chunks(index: Tensor, data: TrainingSet) -> Iterator[Tensor]:
    """``index`` in parts that fit in memory."""
    units = 1
    for size in data.annotations.space:
        units *= size
    return iter(index.split(max(1, CHUNK // max(1, units // 64))))
