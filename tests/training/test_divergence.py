from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from truelabel.methods import METHODS, learn
from truelabel.training import DivergedError, Engine, Job


class Bomb(nn.Module):
    """Returns NaN from a given forward pass in training on."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.layer, self.at, self.seen = nn.Linear(2, 4), at, 0

    def forward(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.layer(inputs)
        if self.training:
            self.seen += 1
            return features if self.seen <= self.at else features * float("nan")
        return features


def train(job: Job, **changes: Any) -> None:
    learn(METHODS["cross-entropy"], replace(job, **changes), Engine(device="cpu"))


def test_epoch_and_step_are_named(job: Job) -> None:
    steps = 108 // 32
    with pytest.raises(
        DivergedError, match=r"the loss became NaN or infinite in epoch 2, step 1: the learning rate of 0.01"
    ):
        train(job, network=Bomb(2 * steps + 1))


def test_bad_inputs_are_found(job: Job) -> None:
    inputs = job.inputs.copy()
    inputs[17, 1] = np.inf
    with pytest.raises(DivergedError, match="inputs of example 17 are not finite"):
        train(job, inputs=inputs)


def test_huge_inputs_are_found(job: Job) -> None:
    with pytest.raises(DivergedError, match=r"very first step, with inputs as large as .*e\+38"):
        train(job, inputs=np.full_like(job.inputs, 3e38), network="mlp:512")


def test_the_last_good_epoch_stays_in_the_folder(job: Job, tmp_path: Any) -> None:
    with pytest.raises(DivergedError):
        train(job, network=Bomb(7), folder=tmp_path / "run")
    rows = (tmp_path / "run" / "main" / "metrics.csv").read_text().splitlines()
    assert len(rows) == 3
    assert not (tmp_path / "run" / "main" / "finished.json").exists()


def test_an_infinite_penalty_is_told_apart(job: Job) -> None:
    from lightning_fabric import Fabric

    from truelabel.training import TrainingSet
    from truelabel.training.divergence import FiniteWatch
    from truelabel.training.step import StepLoss

    watch, fine = FiniteWatch(torch.device("cpu")), torch.ones(())
    fabric = Fabric(accelerator="cpu", devices=1)
    data = TrainingSet(torch.from_numpy(job.inputs), job.annotations)
    for penalty in (fine, fine, fine / 0, fine):
        watch.see(StepLoss(fine, fine, penalty))
    with pytest.raises(DivergedError, match="the penalty became NaN or infinite in epoch 3, step 2"):
        watch.check(fabric, 3, 4, data, 0.1)
    watch.see(StepLoss(fine, fine, fine))
    watch.check(fabric, 4, 1, data, 0.1)
