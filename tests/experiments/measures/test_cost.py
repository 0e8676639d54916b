from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from truelabel.experiments.measures.cost import cost, kept_bytes, one_image, training_step
from truelabel.experiments.measures.measure import Outcome
from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.networks import UNet
from truelabel.noise import InstanceConfusion, NoNoise
from truelabel.types import Batch, Prediction, Step

MakeOutcome = Callable[..., Outcome]


def unet(noise: bool = False) -> Classifier:
    torch.manual_seed(0)
    model = InstanceConfusion(4, 2, 4) if noise else NoNoise(4, 2)
    return Classifier(UNet(2, width=4, depth=2), model, CrossEntropy())


def test_operations_are_those_of_convolutions_and_linear_layers(outcome: MakeOutcome) -> None:
    learner = unet()
    counted = []

    def count(layer: nn.Module, inputs: tuple[Tensor, ...], result: Tensor) -> None:
        if isinstance(layer, nn.Conv2d):
            counted.append(2 * result.numel() * layer.in_channels * 9)
        elif isinstance(layer, nn.Linear):
            counted.append(2 * result.numel() * layer.in_features)

    told = outcome(learner=learner)
    found = cost(told)
    for layer in learner.modules():
        layer.register_forward_hook(count)
    learner.predict(torch.zeros(1, 2, 9, 9))
    assert found["flops"] == sum(counted)
    assert found["parameters"] == sum(p.numel() for p in learner.parameters())


def test_matrices_of_readers_cost_more_of_everything(outcome: MakeOutcome) -> None:
    plain, confused = (cost(outcome(learner=unet(noise))) for noise in (False, True))
    # Four readers with a linear map from four features to four cells each, and a bias.
    assert confused["parameters"] - plain["parameters"] == 4 * 4 * (4 + 1)
    assert confused["flops"] - plain["flops"] == 2 * 81 * 4 * 4 * 4
    assert confused["memory_gb"] > plain["memory_gb"]


class Exponential(Learner):
    """Keeps its input and its result, and no more: exp(w x)."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, batch: Batch) -> Step:
        losses = (self.scale * batch.inputs).exp().sum().view(1)
        return Step(losses, losses.new_zeros(()), batch.labels[..., 0], losses.detach())

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        raise NotImplementedError


def test_what_is_kept_is_counted() -> None:
    batch = one_image(torch.rand(1, 2, 9, 9), torch.ones(1, 9, 9, dtype=torch.long), torch.arange(3)[None])
    assert batch.labels.shape == (1, 9, 9, 3)
    # Two maps of 162 numbers, the weight and its gradient, four bytes each.
    assert kept_bytes(Exponential(), batch) == 4 * (2 * 162 + 2)


@pytest.mark.parametrize("noise", [False, True])
def test_a_step_leaves_the_learner_as_it_was(noise: bool) -> None:
    learner = unet(noise).eval()
    before = {name: values.clone() for name, values in learner.state_dict().items()}
    training_step(
        learner, one_image(torch.rand(1, 2, 9, 9), torch.ones(1, 9, 9, dtype=torch.long), torch.arange(4)[None])
    )
    assert not learner.training
    assert all(p.grad is None for p in learner.parameters())
    for name, values in learner.state_dict().items():
        assert torch.equal(values, before[name])
