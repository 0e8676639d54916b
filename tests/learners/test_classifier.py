from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable

import pytest
import torch
from torch import Tensor, nn

from truelabel.learners import Classifier, reduce_slots
from truelabel.losses import CrossEntropy
from truelabel.networks import MLP, Adapted, UNet
from truelabel.noise import AnnotatorConfusion, GaussianLogits, InstanceConfusion, LogisticNormal, NoiseModel, NoNoise
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


@pytest.mark.parametrize("noise", [GaussianLogits(8, 3, factors=1), LogisticNormal(8, 3)])
def test_the_spread_is_that_of_the_noise_model(noise: NoiseModel) -> None:
    network = MLP(4, width=8)
    inputs = torch.randn(5, 4)
    found, expected = Classifier(network, noise, CrossEntropy()).uncertainty(inputs), noise.uncertainty(network(inputs))
    assert expected is not None
    assert found.sampled
    for ours, theirs in zip(found[:3], expected[:3], strict=True):
        torch.testing.assert_close(ours, theirs)


def test_without_a_spread_of_the_noise_model_there_is_the_answer() -> None:
    learner, inputs = Classifier(MLP(4, width=8), Recorder(), CrossEntropy()), torch.randn(5, 4)
    probs = learner.predict(inputs).clean.exp()
    found = learner.uncertainty(inputs)
    torch.testing.assert_close(found.probs, probs)
    torch.testing.assert_close(found.variance, probs - probs.square())
    assert not found.sampled
    assert not found.variance.requires_grad


def half_noisy_maps(count: int, side: int) -> tuple[Tensor, Tensor]:
    """Images of two regions and their masks; on the right half of the images a third of the labels is wrong."""
    generator = torch.Generator().manual_seed(0)
    row, shape = torch.arange(side), (count, side, side)
    inside = (row[:, None] + 3 * torch.randn(count, 1, 1, generator=generator) > side / 2).expand(shape)
    right = (row >= side // 2).expand(shape)
    wrong = right & (torch.rand(shape, generator=generator) < 0.35)
    return torch.stack([inside.float(), right.float()], 1), (inside ^ wrong).long()


@pytest.mark.parametrize(
    "make",
    [
        lambda features: GaussianLogits(features, 2, samples=30, prediction_samples=200),
        lambda features: LogisticNormal(features, 2, temperature=0.5, prediction_samples=200),
    ],
    ids=["heteroscedastic", "logistic-normal"],
)
def test_on_a_network_of_ones_own_the_variance_shows_where_masks_are_noisy(make: Callable[[int], NoiseModel]) -> None:
    images, masks = half_noisy_maps(16, 12)
    torch.manual_seed(0)
    network = Adapted(nn.Sequential(nn.Conv2d(2, 16, 3, padding=1), nn.ReLU()), features=16)
    learner = Classifier(network, make(16), CrossEntropy())
    optimizer = torch.optim.Adam(learner.parameters(), 0.05)
    batch = batch_of(masks.unsqueeze(-1), torch.ones(16, 1))._replace(inputs=images)
    for _ in range(120):
        optimizer.zero_grad()
        learner(batch).losses.mean().backward()
        optimizer.step()
    found = learner.eval().uncertainty(images)
    for values in (found.variance.sum(-1), found.entropy):
        assert values[:, 2:-2, 7:10].mean() > 5 * values[:, 2:-2, 2:5].mean()


def a_reader(kind: str) -> Classifier:
    """A learner of masks by four readers of three classes, whose matrices differ; in float64."""
    network = UNet(2, width=4, depth=2)
    noise = InstanceConfusion(4, 3, 4) if kind == "pixels" else AnnotatorConfusion(4, 3, 4)
    learner = Classifier(network, noise, CrossEntropy()).double().eval()
    with torch.no_grad():
        for parameter in noise.noise_parameters():
            parameter.add_(torch.randn_like(parameter))
    return learner


@pytest.mark.parametrize("kind", ["pixels", "readers"])
def test_who_is_asked_is_who_answers(kind: str) -> None:
    learner, images = a_reader(kind), torch.randn(2, 2, 5, 6, dtype=torch.double)
    everybody = torch.arange(4).expand(2, -1)
    prediction = learner.predict(images, everybody)
    assert prediction.noisy.all().shape == (2, 5, 6, 4, 3)
    assert torch.equal(prediction.clean, learner.predict(images).clean)
    some = torch.tensor([[2, 0], [1, 1]])
    said = learner.predict(images, some).noisy.all()
    for n in range(2):
        for slot in range(2):
            torch.testing.assert_close(said[n, ..., slot, :], prediction.noisy.all()[n, ..., some[n, slot], :])
    assert not torch.allclose(said[0, ..., 0, :], said[0, ..., 1, :]), "readers differ, or nothing is tested"


@pytest.mark.parametrize("kind", ["pixels", "readers"])
def test_what_readers_say_is_the_answer_through_their_matrices(kind: str) -> None:
    learner, images = a_reader(kind), torch.randn(2, 2, 5, 6, dtype=torch.double)
    who = torch.tensor([[2, 0, 3], [1, 1, 0]])
    matrices, prediction = learner.matrices_at(images, who), learner.predict(images, who)
    assert matrices is not None
    assert matrices.shape == (2, 5, 6, 3, 3, 3)
    mixed = torch.einsum("...k,...skj->...sj", prediction.clean.exp(), matrices)
    torch.testing.assert_close(prediction.noisy.all().exp(), mixed)
    expected = learner.noise.matrices_at(images, learner.network(images), who)
    assert expected is not None
    assert torch.equal(matrices, expected)


def test_without_matrices_there_are_none_at_units() -> None:
    learner = Classifier(MLP(4, width=8), NoNoise(8, 3), CrossEntropy())
    assert learner.matrices_at(torch.randn(5, 4), torch.zeros(5, 1, dtype=torch.long)) is None
