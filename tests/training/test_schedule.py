from __future__ import annotations

import pytest
import torch
from lightning_fabric import Fabric

from truelabel.training import TrainingConfig
from truelabel.training.schedule import Schedule


class Of:
    """As much of the engine as a schedule looks at."""

    device = torch.device("cpu")

    def __init__(self, world_size: int, global_rank: int) -> None:
        self.world_size = world_size
        self.global_rank = global_rank


def shares(world: int, examples: int = 23) -> list[list[list[int]]]:
    """Batches by process."""
    out = []
    for rank in range(world):
        fabric: Fabric = Of(world, rank)  # type: ignore[assignment]
        schedule = Schedule(TrainingConfig(batch_size=8, epochs=3), examples, fabric)
        train = torch.arange(100, 100 + examples)
        batches = schedule.batches(train, torch.Generator().manual_seed(0), fabric)
        out.append([batch.tolist() for batch in batches])
    return out


def test_processes_share_the_batches_of_one() -> None:
    (alone,), (first, second) = shares(1), shares(2)
    assert [len(batch) for batch in alone] == [8, 8], "what does not fill a batch waits"
    assert len({example for batch in alone for example in batch}) == 16
    assert [a + b for a, b in zip(first, second, strict=True)] == alone


def test_progress_goes_from_nothing_towards_one(fabric: Fabric) -> None:
    schedule = Schedule(TrainingConfig(batch_size=8, epochs=3), 23, fabric)
    assert (schedule.steps, schedule.total) == (2, 6)
    seen = []
    for epoch in range(3):
        for step in range(schedule.steps):
            schedule.fill_progress(epoch, step)
            seen.append(schedule.progress.item())
    assert seen == pytest.approx([i / 6 for i in range(6)])


def test_a_batch_that_is_too_small_for_the_processes_is_refused() -> None:
    with pytest.raises(ValueError, match="a batch of 3 cannot be shared by 4 processes"):
        shares(4, examples=3)
