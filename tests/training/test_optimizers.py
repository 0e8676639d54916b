from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from truelabel.learners import Learner, ParameterGroups
from truelabel.training import TrainingConfig
from truelabel.training.optimizers import build_optimizer, learning_rate_factor, set_learning_rate
from truelabel.types import Batch, Categorical, Prediction, Step


class TwoKinds(Learner):
    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Parameter(torch.ones(3))
        self.noise = nn.Parameter(torch.ones(3))

    def forward(self, batch: Batch) -> Step:
        loss = (self.network + self.noise).sum().expand(len(batch.index))
        return Step(loss, loss.new_zeros(()), batch.index, loss.detach())

    def predict(self, inputs: Tensor) -> Prediction:
        return Prediction(inputs, Categorical(inputs), inputs.new_zeros(()))

    def parameter_groups(self) -> ParameterGroups:
        return ParameterGroups([self.network], [self.noise])


def test_noise_has_its_own_rate_and_no_decay() -> None:
    learner = TwoKinds()
    config = TrainingConfig(optimizer="sgd", momentum=0.0, learning_rate=0.1, noise_learning_rate=0.5, weight_decay=0.2)
    optimizer = build_optimizer(learner, config, torch.device("cpu"), steps=100)
    (learner.network + learner.noise).sum().backward()
    optimizer.step()
    assert torch.allclose(learner.network, torch.full((3,), 1 - 0.1 * (1 + 0.2)))
    assert torch.allclose(learner.noise, torch.full((3,), 1 - 0.5))
    set_learning_rate(optimizer, 0.1)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([0.01, 0.05])


@pytest.mark.parametrize(
    ("name", "kind"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)]
)
def test_optimizers_by_name(name: str, kind: type[torch.optim.Optimizer]) -> None:
    config = TrainingConfig(optimizer=name)  # type: ignore[arg-type]
    optimizer = build_optimizer(TwoKinds(), config, torch.device("cpu"), steps=100)
    assert type(optimizer) is kind
    assert name != "sgd" or optimizer.defaults["nesterov"]


def test_schedules() -> None:
    cosine = TrainingConfig(epochs=10, schedule="cosine")
    assert [learning_rate_factor(cosine, e) for e in range(10)] == pytest.approx(
        [(1 + math.cos(math.pi * e / 10)) / 2 for e in range(10)]
    )
    step = TrainingConfig(epochs=6, schedule="step", step_epochs=(2, 4), step_factor=0.5)
    assert [learning_rate_factor(step, e) for e in range(6)] == [1, 1, 0.5, 0.5, 0.25, 0.25]
    assert learning_rate_factor(TrainingConfig(), 49) == 1
