"""How well a learner predicts the labels that people gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from lightning_fabric import Fabric
from torch import Tensor

from truelabel.learners import Learner
from truelabel.training.data import TrainingSet
from truelabel.training.windows import windows
from truelabel.types import Batch

CHUNK = 1024
"""Examples scored at once; pixels are scored in proportionally smaller chunks."""


@torch.no_grad()
def noisy_scores(
    fabric: Fabric, learner: Learner, data: TrainingSet, index: Tensor, patch: Sequence[int] | None = None
) -> dict[str, float]:
    """Mean loss, and share of given labels that equal the predicted class, over the examples at ``index``.

    These are the numbers that choose an epoch: they see noisy labels only, never the truth. With a ``patch`` images are
    scored in windows of that size, as they are trained on.
    """
    loss = torch.zeros((), dtype=torch.double, device=data.device)
    right, given = torch.zeros_like(loss), torch.zeros_like(loss)
    learner.eval()
    for part in chunks(index, data):
        for batch, share in _windowed(data.batch(part), patch):
            with fabric.autocast():
                step = learner(batch)
            match = (step.predicted.unsqueeze(-1) == batch.labels) & (batch.labels >= 0)
            loss += share * step.losses.double().sum()
            right += match.sum()
            given += (batch.labels >= 0).sum()
    return {"valid_loss": (loss / len(index)).item(), "valid_accuracy": (right / given.clamp_min(1)).item()}


def _windowed(batch: Batch, patch: Sequence[int] | None) -> Iterator[tuple[Batch, float]]:
    """The batch in windows, and what each counts."""
    if patch is None:
        yield batch, 1.0
        return
    parts = windows(batch.inputs.shape[2:], patch)
    for window in parts:
        at = (slice(None), *window)
        soft = None if batch.soft is None else batch.soft[at]
        inputs = batch.inputs[(slice(None), slice(None), *window)]
        yield batch._replace(inputs=inputs, labels=batch.labels[at], soft=soft), 1 / len(parts)


def chunks(index: Tensor, data: TrainingSet) -> Iterator[Tensor]:
    """``index`` in parts that fit in memory."""
    units = 1
    for size in data.annotations.space:
        units *= size
    return iter(index.split(max(1, CHUNK // max(1, units // 64))))
