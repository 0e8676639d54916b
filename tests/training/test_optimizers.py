from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from truelabel.learners import Learner, ParameterGroups
from truelabel.training import TrainingConfig
from truelabel.training.config import Optimizer
from truelabel.training.optimizers import build_optimizer, learning_rate_factor, noise_rate, set_learning_rate
from truelabel.types import Batch, Categorical, Prediction, Step


class TwoKinds(Learner):
    def __init__(self, reach: float | None = None) -> None:
        super().__init__()
        self.reach = reach
        self.network = nn.Parameter(torch.ones(3))
        self.noise = nn.Parameter(torch.ones(3))

    def forward(self, batch: Batch) -> Step:
        loss = (self.network + self.noise).sum().expand(len(batch.index))
        return Step(loss, loss.new_zeros(()), batch.index, loss.detach())

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        return Prediction(inputs, Categorical(inputs), inputs.new_zeros(()))

    def parameter_groups(self) -> ParameterGroups:
        return ParameterGroups([self.network], [self.noise], self.reach)


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


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_epsilon_shortens_steps_of_tiny_gradients(name: Optimizer) -> None:
    learner = TwoKinds()
    config = TrainingConfig(optimizer=name, learning_rate=0.1, epsilon=1e-7)
    optimizer = build_optimizer(learner, config, torch.device("cpu"), steps=100)
    (1e-7 * (learner.network + learner.noise).sum()).backward()
    optimizer.step()
    assert torch.allclose(learner.network, torch.full((3,), 1 - 0.1 / 2))


def test_schedules() -> None:
    cosine = TrainingConfig(epochs=10, schedule="cosine")
    assert [learning_rate_factor(cosine, e) for e in range(10)] == pytest.approx(
        [(1 + math.cos(math.pi * e / 10)) / 2 for e in range(10)]
    )
    step = TrainingConfig(epochs=6, schedule="step", step_epochs=(2, 4), step_factor=0.5)
    assert [learning_rate_factor(step, e) for e in range(6)] == [1, 1, 0.5, 0.5, 0.25, 0.25]
    assert learning_rate_factor(TrainingConfig(), 49) == 1


@pytest.mark.parametrize(
    ("config", "reach", "steps", "expected"),
    [
        ({}, None, 10, 1e-3),
        ({}, 10.0, 1_000, 1e-2),
        ({}, 10.0, 500, 2e-2),
        ({}, 10.0, 20_000, 1e-3),
        ({}, 10.0, 5, 0.03),
        ({"optimizer": "adamw"}, 10.0, 1_000, 1e-2),
        ({"optimizer": "sgd"}, 10.0, 1_000, 1e-3),
        ({"noise_learning_rate": 0.5}, 10.0, 1_000, 0.5),
        ({"noise_learning_rate": 1e-6}, 10.0, 1_000, 1e-6),
        ({"noise_learning_rate": 0.5, "optimizer": "sgd"}, None, 1_000, 0.5),
    ],
    ids=str,
)
def test_noise_is_so_fast_that_it_arrives(
    config: dict[str, Any], reach: float | None, steps: int, expected: float
) -> None:
    settings = TrainingConfig(learning_rate=1e-3, **config)
    assert noise_rate(settings, reach, steps) == pytest.approx(expected)
    optimizer = build_optimizer(TwoKinds(reach), settings, torch.device("cpu"), steps)
    assert [group["lr"] for group in optimizer.param_groups] == pytest.approx([1e-3, expected])


def test_at_that_rate_a_number_travels_its_reach() -> None:
    learner, steps = TwoKinds(reach=10.0), 500
    optimizer = build_optimizer(learner, TrainingConfig(learning_rate=1e-3), torch.device("cpu"), steps)
    for _ in range(steps):
        optimizer.zero_grad()
        learner.noise.sum().backward()
        optimizer.step()
    torch.testing.assert_close(learner.noise.detach(), torch.full((3,), 1 - 10.0), atol=0.1, rtol=0)
