from __future__ import annotations

from collections.abc import Iterable

import pytest
import torch
from torch import Tensor, nn

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import MLP
from truelabel.noise import AnnotatorConfusion, FixedConfusion, NoiseModel, NoNoise
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


def test_by_default_a_model_has_no_spread_of_its_own() -> None:
    assert OneConfusion(2, 3).uncertainty(torch.zeros(5, 2)) is None


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


@pytest.mark.parametrize("space", [(), (4, 5), (2, 3, 2)], ids=str)
@pytest.mark.parametrize("annotators", [6, 1])
def test_matrices_that_are_everywhere_the_same_are_those_of_every_unit(space: tuple[int, ...], annotators: int) -> None:
    model = AnnotatorConfusion(7, 3, annotators).double()
    nn.init.normal_(model.rho)
    features, who = torch.randn(2, *space, 7, dtype=torch.double), torch.tensor([[5, 0, 3, 3], [1, 2, 4, 0]])
    matrices, confusion = model.matrices_at(features, features, who), model.annotator_confusion()
    assert matrices is not None
    assert confusion is not None
    assert matrices.shape == (2, *space, 4, 3, 3)
    for n in range(2):
        for slot in range(4):
            expected = confusion[who[n, slot] if annotators > 1 else 0]
            assert torch.equal(matrices[n, ..., slot, :, :], expected.expand(*space, 3, 3))
    # They are what the model mixes with.
    prediction = model(features, features, who)
    mixed = torch.einsum("...k,...skj->...sj", prediction.clean.exp(), matrices)
    torch.testing.assert_close(prediction.noisy.all().exp(), mixed)


def test_matrices_that_are_known_are_at_every_unit_too() -> None:
    known = torch.tensor([[[0.9, 0.1], [0.2, 0.8]], [[1.0, 0.0], [0.5, 0.5]]])
    model, features = FixedConfusion(7, 2, known), torch.randn(3, 4, 7)
    matrices = model.matrices_at(features, features, torch.tensor([[1], [0], [1]]))
    assert matrices is not None
    torch.testing.assert_close(matrices, known[torch.tensor([1, 0, 1])].view(3, 1, 1, 2, 2).expand(3, 4, 1, 2, 2))


def test_a_model_without_matrices_has_none_anywhere() -> None:
    features, who = torch.randn(3, 4, 7), torch.zeros(3, 1, dtype=torch.long)
    assert NoNoise(7, 2).matrices_at(features, features, who) is None
    assert AnnotatorConfusion(7, 2, 3, by_input=True).matrices_at(features, features, who) is None
