from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn

from truelabel.learners import Classifier, reduce_slots
from truelabel.losses import CrossEntropy
from truelabel.networks import MLP
from truelabel.noise import NoiseModel, NoNoise
from truelabel.types import Batch, Categorical, Prediction

UNITS = [(7,), (3, 4, 5), (2, 3, 2, 2)]


def batch_of(labels: Tensor, weights: Tensor) -> Batch:
    n, slots = weights.shape
    return Batch(torch.zeros(n, 1), labels, torch.zeros(n, slots, dtype=torch.long), weights, None, torch.arange(n))


def prediction_of(units: tuple[int, ...], classes: int = 3) -> Prediction:
    clean = torch.randn(*units, classes).log_softmax(-1)
    return Prediction(clean, Categorical(clean.unsqueeze(-2)), torch.tensor(0.25))


def slow_losses(values: Tensor, labels: Tensor, weights: Tensor) -> list[float]:
    """Weighted sum over labels given, divided by all units of the example, in plain loops."""
    losses = []
    for n in range(len(values)):
        total, units = 0.0, 0
        for place in itertools.product(*(range(size) for size in values.shape[1:-1])):
            units += 1
            for slot in range(values.shape[-1]):
                if labels[(n, *place, slot)] >= 0:
                    total += weights[n, slot].item() * values[(n, *place, slot)].item()
        losses.append(total / units)
    return losses


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("slots", [1, 3])
def test_the_reduction_in_plain_loops(units: tuple[int, ...], slots: int) -> None:
    values = torch.randn(*units, slots, dtype=torch.double)
    labels = torch.randint(-1, 3, (*units, slots))
    weights = torch.rand(units[0], slots, dtype=torch.double)
    prediction = prediction_of(units)
    step = reduce_slots(values, prediction, batch_of(labels, weights))
    expected = slow_losses(values, labels, weights)
    torch.testing.assert_close(step.losses, torch.tensor(expected, dtype=torch.double))
    assert torch.equal(step.penalty, prediction.penalty)
    assert torch.equal(step.predicted, prediction.clean.max(-1).indices)


def test_the_loss_of_an_empty_slot_is_hidden_even_if_infinite() -> None:
    values = torch.tensor([[1.0, torch.inf], [torch.nan, 3.0]])
    step = reduce_slots(values, prediction_of((2,)), batch_of(torch.tensor([[0, -1], [-1, 2]]), torch.ones(2, 2)))
    assert step.losses.tolist() == [1.0, 3.0]


def test_by_hand_from_inputs_to_losses() -> None:
    network, noise = MLP(4, width=8), NoNoise(8, classes=3)
    learner = Classifier(network, noise, CrossEntropy())
    inputs, labels = torch.randn(4, 4), torch.tensor([[0, 2], [1, -1], [-1, -1], [2, 2]])
    weights = torch.tensor([[1.0, 0.5], [2.0, 9.0], [9.0, 9.0], [0.0, 1.0]])
    probs = torch.softmax(nn.functional.linear(network(inputs), noise.head.weight, noise.head.bias), -1)
    cost = -probs.log()
    step = learner(batch_of(labels, weights)._replace(inputs=inputs))
    expected = torch.stack([cost[0, 0] + cost[0, 2] / 2, 2 * cost[1, 1], cost.new_zeros(()), cost[3, 2]])
    torch.testing.assert_close(step.losses, expected)
    assert torch.equal(step.predicted, probs.argmax(-1))
    torch.testing.assert_close(learner.predict(inputs).clean.exp(), probs)


class Recorder(NoiseModel):
    """Remembers what it was called with."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(8, 3)
        self.scale = nn.Parameter(torch.ones(()))
        self.frozen = nn.Parameter(torch.ones(()), requires_grad=False)
        self.calls: list[tuple[Tensor, Tensor, Tensor]] = []

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        self.calls.append((inputs, features, annotators))
        clean = self.head(features).log_softmax(-1)
        return Prediction(clean, Categorical(clean.unsqueeze(-2)), self.scale)

    def noise_parameters(self) -> Iterable[nn.Parameter]:
        return [self.scale, self.frozen]


def test_the_noise_model_sees_inputs_features_and_annotators() -> None:
    network, noise = MLP(4, width=8), Recorder()
    learner = Classifier(network, noise, CrossEntropy())
    inputs, labels = torch.randn(2, 4), torch.tensor([[0, 1], [1, -1]])
    batch = batch_of(labels, torch.ones(2, 2))._replace(inputs=inputs, annotators=torch.tensor([[4, 2], [3, -1]]))
    assert learner(batch).penalty is noise.scale
    learner.predict(inputs)
    (trained, predicted) = noise.calls
    assert trained[0] is predicted[0] is inputs
    assert torch.equal(trained[1], network(inputs))
    assert trained[2] is batch.annotators
    assert predicted[2].tolist() == [[-1], [-1]], "a prediction is nobody's"


def test_noise_parameters_that_train_are_apart() -> None:
    network, noise = MLP(4, width=8), Recorder()
    groups = Classifier(network, noise, CrossEntropy()).parameter_groups()
    assert [id(p) for p in groups.noise] == [id(noise.scale)]
    expected = {id(p) for p in (*network.parameters(), *noise.head.parameters())}
    assert {id(p) for p in groups.network} == expected
    assert len(groups.network) == len(expected)


class Density(Categorical):
    normalised = False


def test_examples_are_compared_by_their_losses_unless_these_are_of_a_density() -> None:
    labels = torch.tensor([[0, 2], [1, -1], [-1, -1]])
    weights = torch.rand(3, 2) + 0.5
    batch, plain = batch_of(labels, weights), prediction_of((3,))
    values = torch.randn(3, 2, requires_grad=True)
    step = reduce_slots(values, plain, batch)
    assert torch.equal(step.surprise, step.losses)
    assert not step.surprise.requires_grad
    dense = plain._replace(noisy=Density(torch.randn(3, 1, 3)))
    expected = slow_losses(-Categorical(plain.clean.unsqueeze(-2)).at(labels), labels, weights)
    assert reduce_slots(values, dense, batch).surprise.tolist() == pytest.approx(expected, rel=1e-5)
