from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn

from truelabel.learners import Classifier, SeparateNetworks
from truelabel.losses import CrossEntropy, GeneralizedCrossEntropy
from truelabel.networks import MLP, Network, UNet
from truelabel.noise import NoNoise
from truelabel.types import Batch

CLASSES, READERS, FEATURES = 4, 3, 6
UNITS = [(5,), (3, 6, 4), (2, 3, 4, 5)]


def network_for(units: tuple[int, ...]) -> Network:
    return MLP(2, width=FEATURES) if len(units) == 1 else UNet(2, width=FEATURES, depth=2, dims=len(units) - 1)


def make(units: tuple[int, ...], readers: int = READERS, **options: Any) -> SeparateNetworks:
    return SeparateNetworks([network_for(units) for _ in range(readers)], CLASSES, **options).double()


def batch_of(units: tuple[int, ...], annotators: Tensor) -> Batch:
    n, slots = annotators.shape
    labels = torch.randint(-1, CLASSES, (*units, slots))
    labels = torch.where((annotators < 0).view(n, *[1] * (len(units) - 1), slots), -1, labels)
    inputs, weights = torch.randn(n, 2, *units[1:]).double(), torch.rand(n, slots).double()
    return Batch(inputs, labels, annotators, weights, None, torch.arange(n))


@pytest.mark.parametrize("units", UNITS)
def test_the_answer_is_the_mean_of_the_networks(units: tuple[int, ...]) -> None:
    learner = make(units).eval()
    inputs = torch.randn(units[0], 2, *units[1:]).double()
    probs = []
    for network, head in zip(learner.networks, learner.heads, strict=True):
        assert isinstance(head, nn.Linear)
        probs.append(torch.softmax(network(inputs) @ head.weight.T + head.bias, -1))
    prediction = learner.predict(inputs)
    torch.testing.assert_close(prediction.clean.exp(), (probs[0] + probs[1] + probs[2]) / 3)
    torch.testing.assert_close(learner.each(inputs).exp(), torch.stack(probs, -2))
    assert torch.equal(prediction.noisy.all(), learner.each(inputs))
    some = torch.tensor([[2, 0]]).expand(units[0], -1)
    torch.testing.assert_close(learner.predict(inputs, some).noisy.all().exp(), torch.stack([probs[2], probs[0]], -2))


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("loss", [CrossEntropy(), GeneralizedCrossEntropy(0.7)])
def test_a_network_learns_as_if_its_annotator_were_the_only_one(units: tuple[int, ...], loss: Any) -> None:
    annotators = torch.stack([torch.randperm(READERS)[:2] for _ in range(units[0])])
    annotators[0, 1] = -1
    batch, learner = batch_of(units, annotators), make(units, loss=loss)
    step = learner(batch)
    step.losses.sum().backward()
    total = torch.zeros(units[0], dtype=torch.double)
    for reader in range(READERS):
        network, head = learner.networks[reader], learner.heads[reader]
        assert isinstance(network, Network)
        noise = NoNoise(FEATURES, CLASSES)
        noise.head.load_state_dict(head.state_dict())
        alone = Classifier(network, noise, loss).double()
        theirs = (annotators == reader).view(units[0], *[1] * (len(units) - 1), 2)
        losses = alone(batch._replace(labels=torch.where(theirs, batch.labels, -1))).losses
        expected = torch.autograd.grad(losses.sum(), [*network.parameters(), *noise.head.parameters()])
        for parameter, gradient in zip([*network.parameters(), *head.parameters()], expected, strict=True):
            assert parameter.grad is not None
            torch.testing.assert_close(parameter.grad, gradient)
        total += losses.detach()
    torch.testing.assert_close(step.losses, total)


def test_an_annotator_who_is_absent_leaves_a_gradient_of_zero() -> None:
    learner = make((5,))
    learner(batch_of((5,), torch.ones(5, 1, dtype=torch.long))).losses.sum().backward()
    for reader in range(READERS):
        for parameter in (*learner.networks[reader].parameters(), *learner.heads[reader].parameters()):
            assert parameter.grad is not None
            assert bool(parameter.grad.any()) == (reader == 1)


def test_who_gave_no_label_is_not_in_the_mean() -> None:
    learner = make((5,), workload=torch.tensor([7, 0, 2])).eval()
    inputs = torch.randn(5, 2).double()
    each = learner.each(inputs).exp()
    torch.testing.assert_close(learner.predict(inputs).clean.exp(), (each[:, 0] + each[:, 2]) / 2)
    loaded = make((5,)).eval()
    loaded.load_state_dict(learner.state_dict())
    assert torch.equal(loaded.predict(inputs).clean, learner.predict(inputs).clean)


def test_each_network_comes_to_say_what_its_annotator_says() -> None:
    inputs = torch.rand(200, 2) * 2 - 1
    truth = (inputs[:, 0] > 0).long()
    said = torch.stack([truth, 1 - truth, (inputs[:, 1] > 0).long()], 1)
    torch.manual_seed(1)
    learner = SeparateNetworks([MLP(2, width=16) for _ in range(3)], classes=2)
    optimizer = torch.optim.Adam(learner.parameters(), 0.02)
    # Each example has one label, so that a network sees a third of them.
    who = torch.arange(200).unsqueeze(1) % 3
    batch = Batch(inputs, said.gather(1, who), who, torch.ones(200, 1), None, torch.arange(200))
    for _ in range(100):
        optimizer.zero_grad()
        learner(batch).losses.mean().backward()
        optimizer.step()
    right = (learner.each(inputs).argmax(-1) == said).float().mean(0)
    assert (right > 0.93).all()


def test_networks_must_be_different_modules() -> None:
    network = MLP(2)
    for wrong in ([network, network], []):
        with pytest.raises(ValueError, match=f"networks must be different modules, .* got {len(wrong)}"):
            SeparateNetworks(wrong, CLASSES)


@pytest.mark.parametrize("workload", [[1, 2], [0, 0, 0]])
def test_a_workload_must_be_of_all_and_not_empty(workload: list[int]) -> None:
    with pytest.raises(ValueError, match="workload must be the labels of 3 annotators, got"):
        make((5,), workload=torch.tensor(workload))
