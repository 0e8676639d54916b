from __future__ import annotations

import math

import pytest
import torch

from truelabel.noise import NoNoise


@pytest.mark.parametrize("units", [(7,), (3, 4, 5)])
def test_a_linear_head_and_a_softmax(units: tuple[int, ...]) -> None:
    model, features = NoNoise(6, 4), torch.randn(*units, 6)
    prediction = model(torch.zeros(units[0], 1), features, torch.zeros(units[0], 2, dtype=torch.long))
    weight, bias = model.head.weight.tolist(), model.head.bias.tolist()
    for row, given in zip(features.view(-1, 6).tolist(), prediction.clean.view(-1, 4).tolist(), strict=True):
        logits = [sum(w * f for w, f in zip(weight[k], row, strict=True)) + bias[k] for k in range(4)]
        total = math.log(sum(math.exp(value) for value in logits))
        assert given == pytest.approx([value - total for value in logits], abs=1e-5)


def test_what_is_said_is_true() -> None:
    model, labels = NoNoise(6, 4), torch.randint(4, (7, 3))
    prediction = model(torch.zeros(7, 1), torch.randn(7, 6), torch.randint(9, (7, 3)))
    assert torch.equal(prediction.noisy.all(), prediction.clean.unsqueeze(1))
    expected = torch.stack([prediction.clean[torch.arange(7), labels[:, slot]] for slot in range(3)], 1)
    assert torch.equal(prediction.noisy.at(labels), expected)
    assert prediction.noisy.normalised
    assert prediction.penalty == 0


def test_neither_inputs_nor_annotators_matter() -> None:
    model, features = NoNoise(6, 4), torch.randn(7, 6)
    first = model(torch.zeros(7, 1), features, torch.full((7, 2), -1))
    second = model(torch.randn(7, 3, 8, 8), features, torch.randint(100, (7, 5)))
    assert torch.equal(first.clean, second.clean)


def test_the_class_head_is_no_noise() -> None:
    model = NoNoise(6, 4)
    assert list(model.noise_parameters()) == []
    assert {name: tuple(p.shape) for name, p in model.named_parameters()} == {
        "head.weight": (4, 6),
        "head.bias": (4,),
    }
