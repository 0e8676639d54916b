from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.distributions import MultivariateNormal
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode

from truelabel.noise.logistic_normal import Covariance, LogisticNormal
from truelabel.noise.logit_density import DiagonalScale, LogitDensity
from truelabel.types import Prediction

FEATURES, CLASSES = 6, 5
COVARIANCES: tuple[Covariance, ...] = ("full", "diagonal", "isotropic", "identity")
UNITS = [(7,), (3, 4, 5), (2, 3, 2, 2)]
VARIANTS = list(itertools.product(COVARIANCES, [True, False]))


def predict(model: LogisticNormal, features: Tensor) -> Prediction:
    nobody = torch.full((len(features), 1), -1)
    return model(features, features, nobody)


def smoothed_logits(label: int, classes: int, *, temperature: float, smoothing: float, dummy: bool) -> Tensor:
    """Target of a label from first principles: smooth the one-hot vector, then invert the centred softmax."""
    corners = classes + dummy
    smoothed = (1 - smoothing) * functional.one_hot(torch.tensor(label), corners).double() + smoothing / corners
    return temperature * (smoothed[:-1] / smoothed[-1]).log()


def dense(model: LogisticNormal, features: Tensor) -> tuple[Tensor, Tensor]:
    """Mean ``(*U, D)`` and scale ``(*U, D, D)`` as matrices, from the weights."""
    mean = functional.linear(features, model.head.weight, model.head.bias)
    eye = torch.eye(mean.shape[-1], dtype=mean.dtype).expand(*mean.shape, mean.shape[-1])
    if model.covariance == "identity":
        return mean, eye
    spread = functional.linear(features, model.spread.weight, model.spread.bias)
    if model.covariance == "full":
        return mean, torch.einsum("...i,...j->...ij", spread, spread) + model.scale * eye
    return mean, (torch.log1p(spread.exp()) + model.scale).unsqueeze(-1) * eye


def log_density(mean: Tensor, scale: Tensor, target: Tensor) -> Tensor:
    value: Tensor = MultivariateNormal(mean, scale @ scale.mT).log_prob(target)
    return value


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize(("covariance", "dummy"), VARIANTS)
def test_the_density_of_a_dense_normal(covariance: Covariance, dummy: bool, units: tuple[int, ...]) -> None:
    model = LogisticNormal(
        FEATURES, CLASSES, temperature=0.7, scale=0.3, smoothing=0.02, covariance=covariance, dummy=dummy
    ).double()
    features = 3 * torch.randn(*units, FEATURES, dtype=torch.double)
    mean, scale = dense(model, features)
    targets = [smoothed_logits(k, CLASSES, temperature=0.7, smoothing=0.02, dummy=dummy) for k in range(CLASSES)]
    expected = torch.stack([log_density(mean, scale, target) for target in targets], -1)
    noisy = predict(model, features).noisy
    assert not noisy.normalised
    torch.testing.assert_close(noisy.all(), expected.unsqueeze(-2), rtol=1e-9, atol=1e-9)
    for slots in (1, 3):
        labels = torch.randint(CLASSES, (*units, slots))
        torch.testing.assert_close(noisy.at(labels), expected.gather(-1, labels), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(noisy.at(labels), noisy.all().squeeze(-2).gather(-1, labels), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("classes", "smoothing", "with_dummy", "without", "probability"),
    [(10, 0.01, 6.994, 6.899, 0.9909), (100, 0.01, 9.210, 9.200, 0.9901), (14, 0.1, 4.913, 4.844, 0.9067)],
)
def test_targets_of_the_paper(
    classes: int, smoothing: float, with_dummy: float, without: float, probability: float
) -> None:
    for dummy, expected in ((True, with_dummy), (False, without)):
        model = LogisticNormal(FEATURES, classes, temperature=0.5, smoothing=smoothing, dummy=dummy)
        assert model.target / 0.5 == pytest.approx(expected, abs=5e-4)
    at_target = torch.tensor([with_dummy] + [0.0] * classes).softmax(-1)[0].item()
    assert at_target == pytest.approx(probability, abs=5e-5)
    assert LogisticNormal(FEATURES, 10).target == pytest.approx(6.99393, abs=5e-6)


def test_the_last_class_without_the_dummy_is_far_from_the_origin() -> None:
    # Sec. 3.3: the squared norm of its target is K - 1 times that of any other class.
    model = LogisticNormal(FEATURES, CLASSES, covariance="identity", dummy=False).double()
    torch.nn.init.zeros_(model.head.weight)
    torch.nn.init.zeros_(model.head.bias)
    far = model.attenuation(torch.zeros(1, FEATURES, dtype=torch.double), torch.arange(CLASSES).unsqueeze(0))
    norms = [model.target] * (CLASSES - 1) + [model.target * math.sqrt(CLASSES - 1)]
    torch.testing.assert_close(far.residual[0], torch.tensor(norms, dtype=torch.double))


def test_less_smoothing_asks_for_larger_logits() -> None:
    features, label = torch.randn(3, FEATURES), torch.tensor([[1], [2], [4]])
    for smoothing in (0.3, 0.1, 1e-3):
        model = LogisticNormal(FEATURES, CLASSES, smoothing=smoothing)
        mean = model.head(features).unsqueeze(-2).requires_grad_()
        density = LogitDensity(mean, DiagonalScale(torch.ones_like(mean)), model.target, dummy=True)
        # One gradient step of length one ends in the minimum of squared error, whose softmax is the smoothed label.
        fitted = mean - torch.autograd.grad(-density.at(label).sum(), mean)[0]
        probs = functional.pad(fitted, (0, 1)).softmax(-1).squeeze(-2).gather(-1, label)
        torch.testing.assert_close(probs, torch.full_like(probs, 1 - smoothing + smoothing / (CLASSES + 1)))


def test_identity_is_squared_error_regression() -> None:
    model = LogisticNormal(FEATURES, CLASSES, covariance="identity").double()
    features, labels = torch.randn(7, FEATURES, dtype=torch.double), torch.randint(CLASSES, (7, 1))
    targets = model.target * functional.one_hot(labels[:, 0], CLASSES).double()
    mean = model.head(features)
    expected = 0.5 * functional.mse_loss(mean, targets, reduction="none").sum(-1, keepdim=True)
    values = -predict(model, features).noisy.at(labels) - CLASSES / 2 * math.log(2 * math.pi)
    torch.testing.assert_close(values, expected)
    gradients = [torch.autograd.grad(value.sum(), model.head.weight)[0] for value in (values, expected)]
    torch.testing.assert_close(*gradients)


@pytest.mark.parametrize(("covariance", "dummy"), VARIANTS)
def test_the_gradient_for_the_mean(covariance: Covariance, dummy: bool) -> None:
    # Eq. 6: minus Σ⁻¹ (y - μ).
    model = LogisticNormal(FEATURES, CLASSES, covariance=covariance, dummy=dummy).double()
    features = torch.randn(CLASSES, FEATURES, dtype=torch.double)
    targets = torch.stack(
        [smoothed_logits(k, CLASSES, temperature=1.0, smoothing=0.01, dummy=dummy) for k in range(CLASSES)]
    )
    mean, scale = dense(model, features)
    expected = -torch.linalg.solve(scale @ scale.mT, targets - mean)
    labels = torch.arange(CLASSES).unsqueeze(-1)
    for slots in (1, 2):
        density = predict(model, features).noisy
        assert isinstance(density, LogitDensity)
        loss = -density.at(labels.expand(-1, slots)).sum() / slots
        (gradient,) = torch.autograd.grad(loss, density.mean)
        torch.testing.assert_close(gradient.squeeze(-2), expected, rtol=1e-9, atol=1e-9)


def test_c_and_minus_c_are_the_same_model() -> None:
    model = LogisticNormal(FEATURES, CLASSES)
    features, labels = torch.randn(7, FEATURES), torch.randint(CLASSES, (7, 1))
    before = predict(model, features).noisy
    with torch.no_grad():
        model.spread.weight.neg_()
        model.spread.bias.neg_()
    after = predict(model, features).noisy
    assert torch.equal(after.all(), before.all())
    assert torch.equal(after.at(labels), before.at(labels))


def test_the_dummy_is_never_the_answer() -> None:
    model = LogisticNormal(FEATURES, CLASSES, temperature=0.5).double()
    with torch.no_grad():
        model.head.bias.sub_(50)  # the dummy class, whose logit is zero, would win everywhere
    features = torch.randn(7, FEATURES, dtype=torch.double)
    mean, clean = model.head(features), predict(model, features).clean
    assert (mean < 0).all()
    assert torch.equal(clean.argmax(-1), mean.argmax(-1))
    torch.testing.assert_close(clean, (mean / 0.5).log_softmax(-1))


def test_without_the_dummy_the_last_class_has_logit_zero() -> None:
    model = LogisticNormal(FEATURES, CLASSES, temperature=0.5, dummy=False).double()
    features = torch.randn(3, 4, FEATURES, dtype=torch.double)
    odds = (model.head(features) / 0.5).exp()
    expected = torch.cat([odds, torch.ones(3, 4, 1, dtype=torch.double)], -1) / (1 + odds.sum(-1, keepdim=True))
    torch.testing.assert_close(predict(model, features).clean.exp(), expected)


@pytest.mark.parametrize("units", [(7,), (2, 3, 5)])
@pytest.mark.parametrize(("covariance", "dummy"), VARIANTS)
def test_the_latent_is_the_normal_of_the_logits(covariance: Covariance, dummy: bool, units: tuple[int, ...]) -> None:
    model = LogisticNormal(FEATURES, CLASSES, temperature=0.7, scale=0.3, covariance=covariance, dummy=dummy).double()
    features = 3 * torch.randn(*units, FEATURES, dtype=torch.double)
    location, scale, factors = model.latent(features)
    mean, root = dense(model, features)
    shape, size = (*units, CLASSES, CLASSES), mean.shape[-1]
    expected = torch.zeros(shape, dtype=torch.double)
    expected[..., :size, :size] = root @ root.mT / 0.7**2
    torch.testing.assert_close(factors @ factors.mT + scale.square().diag_embed(), expected)
    torch.testing.assert_close(location[..., :size], mean / 0.7)
    assert (location[..., size:] == 0).all()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("covariance", "dummy"), VARIANTS)
def test_uncertainty_against_draws_of_a_normal(covariance: Covariance, dummy: bool, training: bool) -> None:
    model = LogisticNormal(
        FEATURES, CLASSES, temperature=0.7, covariance=covariance, dummy=dummy, prediction_samples=5000
    ).double()
    features = 2 * torch.randn(2, 3, FEATURES, dtype=torch.double)
    mean, scale = dense(model, features)
    drawn = MultivariateNormal(mean, scale @ scale.mT).sample(torch.Size([20_000])) / 0.7
    vectors = (drawn if dummy else functional.pad(drawn, (0, 1))).softmax(-1)
    found = model.train(training).uncertainty(features)
    assert found.sampled
    torch.testing.assert_close(found.probs, vectors.mean(0), rtol=0, atol=0.025)
    torch.testing.assert_close(found.variance, vectors.var(0), rtol=0, atol=0.01)
    torch.testing.assert_close(found.entropy, torch.distributions.Categorical(found.probs).entropy())


def test_without_noise_the_mean_over_draws_is_the_clean_answer() -> None:
    model = LogisticNormal(FEATURES, CLASSES, scale=1e-6).double()
    torch.nn.init.zeros_(model.spread.weight)
    torch.nn.init.zeros_(model.spread.bias)
    features = torch.randn(7, FEATURES, dtype=torch.double)
    found = model.uncertainty(features)
    torch.testing.assert_close(found.probs, predict(model, features).clean.exp(), rtol=0, atol=1e-5)
    assert found.variance.max() < 1e-10


def test_the_length_of_c_is_uncertainty_that_the_clean_answer_does_not_show() -> None:
    model, features = LogisticNormal(FEATURES, CLASSES).double(), torch.randn(7, FEATURES, dtype=torch.double)
    torch.nn.init.zeros_(model.spread.weight)
    # From a c that is short: where it is long the variance is near the largest that there is, whatever its length.
    with torch.no_grad():
        model.spread.bias.copy_(0.3 * functional.normalize(torch.randn(CLASSES, dtype=torch.double), dim=0))
    clean, quiet = predict(model, features).clean, model.uncertainty(features)
    with torch.no_grad():
        model.spread.bias.mul_(10)
    loud = model.uncertainty(features)
    assert (loud.variance.sum(-1) > 2 * quiet.variance.sum(-1)).all()
    assert torch.equal(predict(model, features).clean, clean)


class LargestTensor(TorchDispatchMode):
    """Remembers the largest number of elements that any operation allocated, in the backward pass too."""

    elements = 0

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        given = func(*args, **(kwargs or {}))
        for value in given if isinstance(given, tuple | list) else (given,):
            if isinstance(value, Tensor):
                self.elements = max(self.elements, value.untyped_storage().nbytes() // value.element_size())
        return given


@pytest.mark.parametrize("slots", [1, 3])
@pytest.mark.parametrize(("covariance", "dummy"), VARIANTS)
def test_cost_grows_with_the_classes_only(covariance: Covariance, dummy: bool, slots: int) -> None:
    units, classes = 4, 20_000
    model = LogisticNormal(2, classes, covariance=covariance, dummy=dummy)
    features, labels = torch.randn(units, 2, requires_grad=True), torch.randint(classes, (units, slots))
    with LargestTensor() as largest:
        noisy = predict(model, features).noisy
        noisy.at(labels).sum().backward()
        noisy.all()
    assert largest.elements == units * classes


@pytest.mark.parametrize(("covariance", "dummy"), VARIANTS)
@pytest.mark.parametrize("size", [1e4, 1e8])
def test_huge_features_stay_finite_in_single_precision(covariance: Covariance, dummy: bool, size: float) -> None:
    model = LogisticNormal(FEATURES, CLASSES, scale=0.1, covariance=covariance, dummy=dummy)
    features = (size * torch.randn(7, FEATURES)).requires_grad_()
    prediction = predict(model, features)
    values = [prediction.clean, prediction.noisy.all(), prediction.noisy.at(torch.randint(CLASSES, (7, 1)))]
    assert all(found.isfinite().all() for found in model.uncertainty(features)[:3])
    torch.stack([value.sum() for value in values]).sum().backward()
    gradients = [features.grad, *(parameter.grad for parameter in model.parameters())]
    for value in (*values, *gradients):
        assert value is not None
        assert value.isfinite().all()


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_mixed_precision_keeps_the_digits_of_the_density(covariance: Covariance) -> None:
    model, features = LogisticNormal(FEATURES, CLASSES, covariance=covariance, scale=0.1), torch.randn(7, FEATURES)
    labels = torch.arange(7).unsqueeze(-1) % CLASSES
    expected = predict(model, features)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = predict(model, features)
        assert torch.equal(mixed.clean, expected.clean)
        assert torch.equal(mixed.noisy.at(labels), expected.noisy.at(labels))
        assert torch.equal(mixed.noisy.all(), expected.noisy.all())
        assert predict(model, features.bfloat16()).noisy.all().dtype == torch.float


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_attenuation(covariance: Covariance, units: tuple[int, ...]) -> None:
    model = LogisticNormal(FEATURES, CLASSES, covariance=covariance).double()
    features, labels = torch.randn(*units, FEATURES, dtype=torch.double), torch.randint(-1, CLASSES, (*units, 3))
    far = model.attenuation(features, labels)
    assert far.residual.shape == far.whitened.shape == far.gradient.shape == (*units, 3)
    mean, scale = (values.unsqueeze(len(units)) for values in dense(model, features))
    residual = model.target * functional.one_hot(labels.clamp_min(0), CLASSES).double() - mean
    cov = scale @ scale
    solved = torch.linalg.solve(cov, residual.unsqueeze(-1)).squeeze(-1)
    given = labels >= 0
    torch.testing.assert_close(far.residual[given], residual.norm(dim=-1)[given])
    torch.testing.assert_close(far.whitened[given].square(), (residual * solved).sum(-1)[given])
    torch.testing.assert_close(far.gradient[given], solved.norm(dim=-1)[given])
    assert not given.all()
    for values in far:
        assert values[~given].isnan().all()


@pytest.mark.parametrize("covariance", COVARIANCES)
def test_heads_start_glorot_uniform_with_zero_bias(covariance: Covariance) -> None:
    model = LogisticNormal(300, 200, covariance=covariance)
    heads = [model.head] if covariance == "identity" else [model.head, model.spread]
    for head in heads:
        bound = math.sqrt(6 / (head.in_features + head.out_features))
        assert 0.98 * bound < head.weight.abs().max() <= bound
        assert head.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
        assert not head.bias.any()


def test_both_heads_belong_to_the_classifier_and_neither_starts_at_zero() -> None:
    shapes = {
        covariance: {name: tuple(p.shape) for name, p in LogisticNormal(6, 4, covariance=covariance).named_parameters()}
        for covariance in COVARIANCES
    }
    mean = {"head.weight": (4, 6), "head.bias": (4,)}
    assert shapes["identity"] == mean
    assert shapes["isotropic"] == mean | {"spread.weight": (1, 6), "spread.bias": (1,)}
    assert shapes["full"] == shapes["diagonal"] == mean | {"spread.weight": (4, 6), "spread.bias": (4,)}
    model = LogisticNormal(6, 4, dummy=False)
    assert model.head.weight.shape == model.spread.weight.shape == (3, 6)
    assert model.spread.weight.all()
    assert list(model.noise_parameters()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": 0}, "features=0"),
        ({"classes": 1}, "classes=1"),
        ({"temperature": 0.0}, "temperature=0.0"),
        ({"temperature": math.inf}, "temperature=inf"),
        ({"scale": -0.5}, "scale=-0.5"),
        ({"scale": math.nan}, "scale=nan"),
        ({"smoothing": 0.0}, "smoothing=0.0"),
        ({"prediction_samples": 0}, "prediction_samples must be a whole number of at least 1, got 0"),
        ({"smoothing": 1.0}, "smoothing=1.0"),
        ({"covariance": "low-rank"}, "covariance='low-rank'.*full, diagonal, isotropic, identity"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        LogisticNormal(**({"features": 6, "classes": 4} | options))
