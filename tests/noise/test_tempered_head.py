from __future__ import annotations

import pytest
import torch

from truelabel.losses import BiTempered, bi_tempered, tempered_softmax
from truelabel.noise import TemperedHead
from truelabel.types import Batch, Prediction


def predict(model: TemperedHead, features: torch.Tensor) -> Prediction:
    n = len(features)
    return model(torch.zeros(n, 1), features, torch.zeros(n, 1, dtype=torch.long))


@pytest.mark.parametrize("units", [(7,), (3, 4, 5)])
@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0, 4.0])
def test_its_answer_is_the_tempered_softmax_of_the_logits(units: tuple[int, ...], temperature: float) -> None:
    model = TemperedHead(6, 4, temperature).double().eval()
    features = 3 * torch.randn(*units, 6, dtype=torch.double)
    logits = features @ model.head.weight.T + model.head.bias
    clean = predict(model, features).clean.exp()
    torch.testing.assert_close(clean, tempered_softmax(logits, temperature), atol=1e-12, rtol=1e-9)
    assert torch.allclose(clean, logits.softmax(-1)) == (temperature == 1)


def test_in_training_only_the_order_of_classes_is_given() -> None:
    model = TemperedHead(6, 4, 2.0)
    features = torch.randn(50, 6)
    training, answer = predict(model.train(), features), predict(model.eval(), features)
    torch.testing.assert_close(training.clean, model.head(features).log_softmax(-1))
    assert torch.equal(training.clean.argmax(-1), answer.clean.argmax(-1))
    torch.testing.assert_close(answer.noisy.all(), training.noisy.all())


@pytest.mark.parametrize("mode", [True, False])
def test_the_loss_takes_its_likelihood_for_activations(mode: bool) -> None:
    model = TemperedHead(6, 4, 2.0).train(mode)
    features, labels = torch.randn(9, 6), torch.randint(4, (9, 1))
    batch = Batch(features, labels, torch.zeros_like(labels), torch.ones(9, 1), None, torch.arange(9))
    values = BiTempered(0.7, 2.0)(predict(model, features), batch)
    torch.testing.assert_close(values.squeeze(-1), bi_tempered(model.head(features), labels[:, 0], 0.7, 2.0))


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_class_without_probability_has_a_finite_logarithm(temperature: float) -> None:
    model = TemperedHead(1, 3, temperature).eval()
    model.head.weight.data = torch.tensor([[1e4], [0.0], [-1e4]])
    clean = predict(model, torch.ones(1, 1)).clean
    assert clean.isfinite().all()
    assert clean.exp().sum().item() == pytest.approx(1)


def test_the_class_head_is_no_noise() -> None:
    model = TemperedHead(6, 4, 2.0)
    assert list(model.noise_parameters()) == []
    assert {name for name, _ in model.named_parameters()} == {"head.weight", "head.bias"}
