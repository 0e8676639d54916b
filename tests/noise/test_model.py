from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import MLP
from truelabel.noise import NoiseModel
from truelabel.types import Batch, Categorical, Prediction, mix


class OneConfusion(NoiseModel):
    """A noise model of one's own, with only what the contract asks for: one confusion for all annotators."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, classes)
        self.confusion = nn.Parameter(3 * torch.eye(classes))

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        clean = self.head(features).log_softmax(-1)
        noisy = mix(clean, self.confusion.softmax(-1)).unsqueeze(-2)
        return Prediction(clean, Categorical(noisy), self.confusion.diagonal().mean())

    def noise_parameters(self) -> Iterable[nn.Parameter]:
        return [self.confusion]


def test_the_contract_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        NoiseModel()  # type: ignore[abstract]


def test_by_default_nothing_is_noise() -> None:
    class Plain(OneConfusion):
        noise_parameters = NoiseModel.noise_parameters

    assert list(Plain(2, 3).noise_parameters()) == []


def test_hooks_run() -> None:
    model, seen = OneConfusion(2, 3), list[object]()
    model.register_forward_hook(lambda module, args, result: seen.append(result))
    prediction = model(torch.zeros(1, 2), torch.zeros(1, 2), torch.zeros(1, 1, dtype=torch.long))
    assert seen == [prediction]


def test_a_model_of_ones_own_trains_in_a_classifier() -> None:
    network = MLP(4, width=8)
    learner = Classifier(network, OneConfusion(8, 3), CrossEntropy())
    labels = torch.tensor([[0, 1], [2, -1]])
    step = learner(Batch(torch.randn(2, 4), labels, labels.clamp_max(0), torch.ones(2, 2), None, torch.arange(2)))
    assert step.penalty.item() == 3.0
    (step.losses.mean() + step.penalty).backward()
    groups = learner.parameter_groups()
    assert [tuple(p.shape) for p in groups.noise] == [(3, 3)]
    assert len(groups.network) == len(list(learner.parameters())) - 1
    assert all(p.grad is not None and p.grad.any() for p in groups.noise)
