"""One training step: forward passes of all peers, selection on the global batch, one loss."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any, NamedTuple

import torch
from lightning_fabric import Fabric
from torch import Tensor

from truelabel.selection import Selector
from truelabel.training.processes import gather
from truelabel.types import Batch, Step, label_weight


class StepLoss(NamedTuple):
    """What a step minimises, and its parts.

    Attributes:
        total: ``()``, summed over peers: mean over examples of weight times loss, plus the penalty.
        mean: ``()``, detached; mean loss of all examples, kept or not, summed over peers.
        penalty: ``()``, detached, summed over peers.
    """

    total: Tensor
    mean: Tensor
    penalty: Tensor


def step_loss(fabric: Fabric, peers: Sequence[Any], batch: Batch, selector: Selector, progress: Tensor) -> StepLoss:
    """The loss of all peers on this process's share of the batch.

    Each peer trains as it would alone: the mean is over examples only. With several processes the gradients are
    averaged over them, which gives the mean over the global batch, because every process holds equally many examples.

    Args:
        fabric: the engine, for the number of processes.
        peers: M learners, as the engine wrapped them.
        batch: n examples.
        selector: sees the surprise, M x N, of all processes, each divided by the weight of the labels behind it.
        progress: ``()``, share of all steps already taken.
    """
    steps: list[Step] = [peer(batch) for peer in peers]
    penalty = reduce(torch.add, [step.penalty for step in steps])
    mean = reduce(torch.add, [step.losses.mean() for step in steps])
    if not selector.selects:
        return StepLoss(mean + penalty, mean.detach(), penalty.detach())
    losses = torch.stack([step.losses for step in steps])
    with torch.no_grad():
        predicted = torch.stack([step.predicted for step in steps])
        given = label_weight(batch)
        labelled = given > 0
        surprise = torch.stack([step.surprise for step in steps])
        per_label = surprise / torch.where(labelled, given, 1.0).to(surprise.dtype)
        weights = selector(
            _global(fabric, per_label),
            _global(fabric, predicted),
            _global(fabric, labelled.unsqueeze(0)).squeeze(0),
            progress,
        )
        weights = weights.unflatten(1, (fabric.world_size, -1))[:, fabric.global_rank]
    # A weight of zero must silence a loss even if that is infinite.
    kept = torch.where(weights > 0, weights * losses, 0.0)
    return StepLoss(kept.mean(-1).sum() + penalty, mean.detach(), penalty.detach())


def _global(fabric: Fabric, values: Tensor) -> Tensor:
    """``(M, n, ...)`` of every process, joined to ``(M, N, ...)`` in the order of the global batch."""
    return gather(fabric, values).movedim(0, 1).flatten(1, 2)
