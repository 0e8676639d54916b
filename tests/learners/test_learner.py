from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from truelabel.learners import Learner
from truelabel.types import Batch, Categorical, Prediction, Step


class Constant(Learner):
    """A learner of one's own, with only what the contract asks for: one belief about everything."""

    def __init__(self) -> None:
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([0.0, 1.0]))
        self.frozen = nn.Parameter(torch.zeros(()), requires_grad=False)

    def forward(self, batch: Batch) -> Step:
        clean = self.predict(batch.inputs).clean
        losses = torch.where(batch.labels[:, 0] >= 0, -clean.gather(1, batch.labels.clamp_min(0))[:, 0], 0.0)
        return Step(losses, clean.new_zeros(()), clean.argmax(-1), losses.detach())

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        clean = self.logits.log_softmax(-1).expand(len(inputs), -1)
        return Prediction(clean, Categorical(clean.unsqueeze(-2)), clean.new_zeros(()))


def test_the_contract_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Learner()  # type: ignore[abstract]


def test_by_default_all_that_trains_is_network() -> None:
    learner = Constant()
    groups = learner.parameter_groups()
    assert [id(p) for p in groups.network] == [id(learner.logits)]
    assert groups.noise == []


def test_by_default_a_learner_is_as_sure_as_its_answer() -> None:
    found = Constant().uncertainty(torch.zeros(2, 3))
    probs = torch.tensor([1.0, math.e]) / (1 + math.e)
    torch.testing.assert_close(found.probs, probs.expand(2, 2))
    torch.testing.assert_close(found.variance, probs.prod().expand(2, 2))
    assert not found.sampled
    assert not found.variance.requires_grad


def test_a_learner_of_ones_own() -> None:
    labels = torch.tensor([[1], [-1]])
    batch = Batch(torch.zeros(2, 3), labels, torch.zeros(2, 1), torch.ones(2, 1), None, torch.arange(2))
    learner, seen = Constant(), list[object]()
    learner.register_forward_hook(lambda module, args, result: seen.append(result))
    step = learner(batch)
    assert seen == [step]
    torch.testing.assert_close(step.losses, torch.tensor([1 + torch.exp(torch.tensor(-1.0)), 1.0]).log())
    assert step.predicted.tolist() == [1, 1]
