from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

from truelabel.noise import DoctorHeads

FEATURES, CLASSES, ANNOTATORS = 6, 3, 4
WHO = torch.tensor([[0, 3], [2, -1], [1, 0], [3, 2], [-1, -1]])


def heads_of(model: DoctorHeads, features: Tensor) -> Tensor:
    """Each annotator's softmax, one after the other: (N, R, K)."""
    weight = model.head.weight.view(model.annotators, CLASSES, FEATURES)
    bias = model.head.bias.view(model.annotators, CLASSES)
    each = [(features @ w.T + b).softmax(-1) for w, b in zip(weight, bias, strict=True)]
    return torch.stack(each, 1).detach()


def a_model(*, averaging: bool, annotators: int = ANNOTATORS) -> DoctorHeads:
    model = DoctorHeads(FEATURES, CLASSES, annotators, averaging=averaging).double()
    model.weight.data = torch.linspace(-1, 1, annotators, dtype=torch.double)
    return model


def test_weights_start_even() -> None:
    for averaging in (False, True):
        assert DoctorHeads(FEATURES, CLASSES, ANNOTATORS, averaging=averaging).weight.tolist() == [0.0] * ANNOTATORS


@pytest.mark.parametrize("averaging", [False, True])
def test_the_answer_is_the_weighted_mean(averaging: bool) -> None:
    model, features = a_model(averaging=averaging), torch.randn(5, FEATURES, dtype=torch.double)
    each = heads_of(model, features)
    total = sum(math.exp(v) for v in model.weight.tolist())
    expected = sum(math.exp(v) / total * each[:, r] for r, v in enumerate(model.weight.tolist()))
    torch.testing.assert_close(model(features, features, WHO).clean.exp(), expected)


def test_each_annotator_speaks_through_their_own_head() -> None:
    model, features = a_model(averaging=False), torch.randn(5, FEATURES, dtype=torch.double)
    each, noisy = heads_of(model, features), model(features, features, WHO).noisy.all().exp()
    for n, s in (WHO >= 0).nonzero().tolist():
        torch.testing.assert_close(noisy[n, s], each[n, WHO[n, s]])


def test_a_label_trains_its_own_head_only() -> None:
    model, features = a_model(averaging=False), torch.randn(5, FEATURES, dtype=torch.double)
    model(features, features, torch.full((5, 1), 2)).noisy.at(torch.ones(5, 1, dtype=torch.long)).sum().backward()
    assert model.head.weight.grad is not None
    moved = model.head.weight.grad.view(ANNOTATORS, CLASSES, FEATURES).abs().sum((1, 2))
    assert (moved > 0).tolist() == [False, False, True, False]


def test_what_one_said_is_predicted_by_the_others() -> None:
    model, features = a_model(averaging=True), torch.randn(5, FEATURES, dtype=torch.double)
    each, labels = heads_of(model, features), torch.randint(CLASSES, WHO.shape)
    weights = [math.exp(v) for v in model.weight.tolist()]
    noisy = model(features, features, WHO).noisy
    at, every = noisy.at(labels).detach(), noisy.all().detach()
    for n, s in (WHO >= 0).nonzero().tolist():
        others = [r for r in range(ANNOTATORS) if r != WHO[n, s]]
        norm = sum(weights[r] for r in others)
        for k in range(CLASSES):
            expected = math.log(sum(weights[r] / norm * float(each[n, r, k]) for r in others))
            assert float(every[n, s, k]) == pytest.approx(expected, abs=1e-9)
        assert float(at[n, s]) == float(every[n, s, labels[n, s]])


def test_all_weight_on_one_annotator_stays_finite() -> None:
    model, features = a_model(averaging=True).float(), torch.randn(5, FEATURES)
    model.weight.data[1] = 60.0
    noisy = model(features, features, WHO).noisy
    noisy.at(torch.zeros_like(WHO)).sum().backward()
    assert noisy.all().isfinite().all()
    assert model.weight.grad is not None
    assert model.weight.grad.isfinite().all()


def test_weights_are_learned_in_the_second_stage_only() -> None:
    first, second = a_model(averaging=False), a_model(averaging=True)
    assert list(first.noise_parameters()) == []
    assert [id(p) for p in second.noise_parameters()] == [id(second.weight)]
    assert {name for name, _ in first.named_parameters()} == {"head.weight", "head.bias"}
    second.load_state_dict(first.state_dict())


@pytest.mark.parametrize("annotators", [1, 2])
def test_two_annotators_cannot_judge_each_other(annotators: int) -> None:
    # What one says is predicted by the other alone, so that weights would follow the rounding of their gradient.
    model = a_model(averaging=True, annotators=annotators)
    assert not isinstance(model.weight, nn.Parameter)
    assert list(model.noise_parameters()) == []
    features = torch.randn(5, FEATURES, dtype=torch.double)
    noisy = model(features, features, torch.zeros(5, 1, dtype=torch.long)).noisy.all()
    torch.testing.assert_close(noisy[:, 0].exp(), heads_of(model, features)[:, 0])


def test_nobody_is_refused() -> None:
    with pytest.raises(ValueError, match="^annotators must be at least 1, got 0$"):
        DoctorHeads(FEATURES, CLASSES, 0)
