from __future__ import annotations

import copy
import math

import pytest
import torch
from scipy import integrate, stats
from torch import Tensor
from torch.distributions import LowRankMultivariateNormal
from torch.nn import functional

from truelabel.noise.gaussian_logits import GaussianLogits
from truelabel.types import Prediction

FEATURES, CLASSES = 6, 4


def predict(model: GaussianLogits, features: Tensor) -> Prediction:
    return model(torch.zeros(len(features), 1), features, torch.full((len(features), 1), -1))


def constant(location: list[float], scale: list[float], **options: float) -> GaussianLogits:
    """A model in float64 whose mean and scale do not depend on the features."""
    classes = 2 if options.get("binary") else len(location)
    model = GaussianLogits(1, classes, **options).double()  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.location_head.bias.copy_(torch.tensor(location))
        model.scale_head.bias.copy_((torch.tensor(scale, dtype=torch.double) - 1e-3).expm1().log())
    return model


ANYTHING = torch.zeros(1, 1, dtype=torch.double)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_without_noise_it_is_cross_entropy(training: bool, temperature: float) -> None:
    model = GaussianLogits(FEATURES, CLASSES, temperature=temperature, samples=50).double().train(training)
    with torch.no_grad():
        model.scale_head.bias.fill_(-1e3)  # only the floor of 1e-3 is left
        model.scale_head.weight.zero_()
    features, labels = torch.randn(7, FEATURES, dtype=torch.double), torch.randint(CLASSES, (7,))
    loss = -predict(model, features).noisy.at(labels.unsqueeze(-1)).squeeze(-1)
    expected = functional.cross_entropy(model.location_head(features) / temperature, labels, reduction="none")
    torch.testing.assert_close(loss, expected, rtol=0, atol=1e-3)


def probability_of_maximum(k: int, location: list[float], scale: list[float]) -> float:
    """Of ``u_k`` being the largest of independent Gaussians, by numerical integration."""

    def density(z: float) -> float:
        u = location[k] + scale[k] * z
        others = [stats.norm.cdf((u - location[j]) / scale[j]) for j in range(len(location)) if j != k]
        return float(stats.norm.pdf(z) * math.prod(others))

    return float(integrate.quad(density, -8, 8)[0])


def test_at_low_temperature_the_largest_latent_is_the_label() -> None:
    location, scale = [0.3, -0.2, 0.5], [0.5, 2.0, 1.0]
    model = constant(location, scale, temperature=0.01, prediction_samples=200_000).eval()
    probs = predict(model, ANYTHING).clean.exp()[0]
    expected = [probability_of_maximum(k, location, scale) for k in range(3)]
    assert probs.tolist() == pytest.approx(expected, abs=5e-3)
    assert expected[1] > expected[0], "the noisier class is the likelier one although its mean is lower"


def test_binary_is_a_sigmoid_of_one_latent() -> None:
    model = constant([0.7], [1.5], binary=True, temperature=0.8, prediction_samples=200_000)
    features, labels = ANYTHING.expand(2, 1), torch.tensor([[0], [1]])
    expected = integrate.quad(lambda z: stats.norm.pdf(z) / (1 + math.exp(-(0.7 + 1.5 * z) / 0.8)), -9, 9)[0]
    assert predict(model.eval(), ANYTHING).clean.exp()[0].tolist() == pytest.approx([1 - expected, expected], abs=3e-3)
    # Two latents are the same if their difference is.
    two = constant([0.0, 0.7], [1.5 / 2**0.5] * 2, temperature=0.8, prediction_samples=200_000).eval()
    assert predict(two, ANYTHING).clean.exp()[0, 1].item() == pytest.approx(expected, abs=3e-3)
    model.samples = 200_000
    said = predict(model.train(), features).noisy.at(labels).exp()
    assert said.flatten().tolist() == pytest.approx([1 - expected, expected], abs=3e-3)


def test_low_rank_covariance_against_its_distribution() -> None:
    model = GaussianLogits(FEATURES, CLASSES, factors=2, prediction_samples=100_000, temperature=0.7).double().eval()
    features = torch.randn(3, FEATURES, dtype=torch.double)
    factors = model.factor_head(features).view(3, CLASSES, 2) if model.factor_head is not None else features
    scale = functional.softplus(model.scale_head(features)) + 1e-3
    latent = LowRankMultivariateNormal(model.location_head(features), factors, scale.square())
    expected = (latent.sample(torch.Size([100_000])) / 0.7).softmax(-1).mean(0)
    torch.testing.assert_close(predict(model, features).clean.exp(), expected, rtol=0, atol=0.01)


@pytest.mark.parametrize("factors", [0, 2])
def test_prediction_is_the_same_for_a_part_and_leaves_the_generator_alone(factors: int) -> None:
    model, features = GaussianLogits(FEATURES, CLASSES, factors=factors).eval(), torch.randn(300, FEATURES)
    state = torch.get_rng_state()
    whole = predict(model, features)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(9)
    torch.testing.assert_close(predict(model, features[:5]).clean, whole.clean[:5], rtol=0, atol=1e-6)
    assert torch.equal(predict(model, features).clean, whole.clean)
    assert torch.equal(whole.noisy.all().squeeze(1), whole.clean)
    same = copy.deepcopy(model).double()
    torch.testing.assert_close(predict(same, features.double()).clean.float(), whole.clean, rtol=0, atol=1e-5)


@pytest.mark.parametrize("factors", [0, 2])
def test_training_draws_anew_and_agrees_with_evaluation(factors: int) -> None:
    model = GaussianLogits(FEATURES, CLASSES, factors=factors, samples=50_000, prediction_samples=50_000)
    features, labels = torch.randn(5, FEATURES), torch.arange(CLASSES).expand(5, CLASSES)
    clean = predict(model.eval(), features).clean
    noisy = predict(model.train(), features).noisy
    first, second = noisy.at(labels), noisy.at(labels)
    assert not torch.equal(first, second)
    assert not torch.equal(noisy.all(), noisy.all())
    for values in (first, second, noisy.all().squeeze(1)):
        torch.testing.assert_close(values.exp(), clean.exp(), rtol=0, atol=0.015)


@pytest.mark.parametrize("factors", [0, 1])
def test_examples_with_equal_features_get_draws_of_their_own(factors: int) -> None:
    model, features = GaussianLogits(FEATURES, CLASSES, factors=factors, samples=3), torch.ones(40, FEATURES)
    noisy = predict(model, features).noisy
    assert len(noisy.at(torch.zeros(40, 1, dtype=torch.long)).unique()) == 40
    # Shared up to 4 + 1 signs.
    assert len(noisy.all()[:, 0, 0].unique()) > 8


def test_the_gradient_of_soft_targets_is_that_of_hard_ones_on_average() -> None:
    model = GaussianLogits(FEATURES, CLASSES, factors=2, samples=50_000).double()
    features, labels = torch.randn(5, FEATURES, dtype=torch.double), torch.randint(CLASSES, (5, 1))
    noisy = predict(model, features).noisy
    hard = torch.autograd.grad(noisy.at(labels).sum(), list(model.parameters()), retain_graph=True)
    target = functional.one_hot(labels, CLASSES)
    soft = torch.autograd.grad((target * noisy.all()).sum(), list(model.parameters()))
    for ours, theirs in zip(soft, hard, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0.1)


def test_in_training_the_clean_class_is_that_of_the_mean_logits() -> None:
    model, features = GaussianLogits(FEATURES, CLASSES, temperature=0.3), torch.randn(5, FEATURES)
    expected = (model.location_head(features) / 0.3).log_softmax(-1)
    torch.testing.assert_close(predict(model, features).clean, expected)


@pytest.mark.parametrize("units", [(7,), (2, 3, 5)])
@pytest.mark.parametrize("training", [True, False])
def test_uncertainty(units: tuple[int, ...], training: bool) -> None:
    model, features = GaussianLogits(FEATURES, CLASSES, factors=2).train(training), torch.randn(*units, FEATURES)
    probs, variance, entropy, sampled = model.uncertainty(features)
    assert sampled
    assert probs.shape == variance.shape == (*units, CLASSES)
    assert entropy.shape == units
    torch.testing.assert_close(probs, predict(model.eval(), features).clean.exp())
    torch.testing.assert_close(entropy, torch.distributions.Categorical(probs).entropy())
    latent = model.latent(features)
    covariance = latent.factors @ latent.factors.mT + latent.scale.square().diag_embed()
    logits = torch.distributions.MultivariateNormal(latent.location, covariance).sample(torch.Size([2000]))
    torch.testing.assert_close(variance, logits.softmax(-1).var(0), rtol=0, atol=0.01)


def test_more_noise_is_more_uncertainty() -> None:
    quiet, loud = (constant([1.0, 0.0, 0.0], [size] * 3).uncertainty(ANYTHING) for size in (0.1, 3.0))
    assert loud.variance.min() > 10 * quiet.variance.max()
    assert loud.entropy > quiet.entropy


@pytest.mark.parametrize("factors", [0, 2])
def test_low_resolution_logits_serve_labels_at_full_resolution(factors: int) -> None:
    model = GaussianLogits(
        FEATURES, CLASSES, factors=factors, samples=20_000, prediction_samples=20_000, upsample=2
    ).double()
    features = torch.randn(2, 2, 3, FEATURES, dtype=torch.double)
    labels = torch.randint(-1, CLASSES, (2, 4, 6, 3))
    evaluated, trained = predict(model.eval(), features), predict(model.train(), features)
    assert evaluated.clean.shape == trained.clean.shape == (2, 4, 6, CLASSES)
    assert trained.noisy.all().shape == (2, 4, 6, 1, CLASSES)
    torch.testing.assert_close(trained.noisy.at(labels).exp(), evaluated.noisy.at(labels).exp(), rtol=0, atol=0.02)
    torch.testing.assert_close(predict(model.eval(), features[1:]).clean, evaluated.clean[1:])
    assert model.uncertainty(features).variance.shape == (2, 4, 6, CLASSES)
    trained.noisy.at(labels).sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())


def test_interpolated_noise_is_smaller_than_at_the_pixels() -> None:
    # Halfway between two pixels of equal scale the noise is averaged: its variance falls.
    model = constant([0.0, 0.0], [1.0, 1.0], upsample=2, prediction_samples=5000)
    variance = model.uncertainty(torch.zeros(1, 4, 4, 1, dtype=torch.double)).variance[0, :, :, 0]
    assert variance[0, 0] > 1.3 * variance[3, 3]


def test_all_heads_learn_like_the_network() -> None:
    model = GaussianLogits(FEATURES, CLASSES, factors=2)
    assert {name: tuple(p.shape) for name, p in model.named_parameters()} == {
        "location_head.weight": (4, 6),
        "location_head.bias": (4,),
        "scale_head.weight": (4, 6),
        "scale_head.bias": (4,),
        "factor_head.weight": (8, 6),
        "factor_head.bias": (8,),
    }
    assert list(model.noise_parameters()) == []
    assert list(GaussianLogits(FEATURES, CLASSES).state_dict()) == [
        "location_head.weight",
        "location_head.bias",
        "scale_head.weight",
        "scale_head.bias",
    ]


def test_the_scale_learns_where_labels_are_noisy() -> None:
    # The mean is fixed, so that only the noise can explain the labels of the second kind of input, half of them wrong.
    model = GaussianLogits(2, 3, samples=100)
    with torch.no_grad():
        model.location_head.weight.zero_()
        model.location_head.bias.copy_(torch.tensor([3.0, 0.0, 0.0]))
    features = torch.eye(2).repeat_interleave(60, 0)
    labels = torch.zeros(120, 1, dtype=torch.long)
    labels[60:90, 0] = torch.arange(30) % 2 + 1
    optimizer = torch.optim.Adam(model.scale_head.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        (-predict(model, features).noisy.at(labels).mean()).backward()
        optimizer.step()
    scale = model.latent(torch.eye(2)).scale
    assert scale[1].mean() > 5 * scale[0].mean()
    assert model.uncertainty(torch.eye(2)).probs[1, 0] == pytest.approx(0.5, abs=0.1)


def test_half_precision_features_are_sampled_in_single() -> None:
    model = GaussianLogits(FEATURES, CLASSES).eval()
    with torch.autocast("cpu", torch.bfloat16):
        prediction = predict(model, torch.randn(5, FEATURES))
    assert prediction.clean.dtype == torch.float32
    torch.testing.assert_close(prediction.clean.exp().sum(-1), torch.ones(5))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": 0.0}, "temperature must be positive, got 0.0"),
        ({"factors": -1}, "factors must be a whole number of at least 0, got -1"),
        ({"samples": 0}, "samples must be a whole number of at least 1, got 0"),
        ({"prediction_samples": 0}, "prediction_samples must be a whole number of at least 1"),
        ({"upsample": 1.5}, "upsample must be a whole number of at least 1, got 1.5"),
        ({"binary": True}, "binary needs classes=2 and factors=0, got classes=4"),
    ],
)
def test_senseless_options_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GaussianLogits(FEATURES, CLASSES, **options)  # type: ignore[arg-type]


def test_only_pixels_are_enlarged() -> None:
    with pytest.raises(ValueError, match="upsample=2 needs features \\(N, H, W, F\\), got \\(5, 6\\)"):
        predict(GaussianLogits(FEATURES, CLASSES, upsample=2), torch.randn(5, FEATURES))


def test_the_gradient_is_equation_14_of_englesson_2023() -> None:
    r"""With fixed draws, -(e_c - E[S(u) S(u)_c / E S(u)_c]) is the gradient of the loss with respect to the mean."""
    torch.manual_seed(3)
    location = torch.randn(5, 4, dtype=torch.double, requires_grad=True)
    noise = torch.randn(200, 5, 4, dtype=torch.double)
    labels = torch.tensor([0, 3, 1, 2, 2])
    softmaxes = (location + 0.7 * noise).softmax(-1)
    at = softmaxes[:, torch.arange(5), labels]
    weights = (at / at.mean(0)).unsqueeze(-1)
    expected = -(torch.nn.functional.one_hot(labels, 4) - (softmaxes * weights).mean(0)).detach()
    draws = iter(noise.unbind(0))

    from truelabel.noise.sampled_softmax import GaussianLatent, log_mean_softmax_at

    # The one-pass function asks for its normals tile by tile, samples last.
    def normal(tile: torch.Tensor) -> torch.Tensor:
        if not tile.numel():
            return tile
        filled = torch.stack([next(draws) for _ in range(tile.shape[-1])], -1)
        return tile.copy_(filled.reshape(tile.shape))

    latent = GaussianLatent(location, torch.full_like(location, 0.7).detach(), location.new_zeros(5, 4, 0))
    value = -log_mean_softmax_at(latent, labels.unsqueeze(-1), 200, normal).sum()
    (gradient,) = torch.autograd.grad(value, location)
    torch.testing.assert_close(gradient, expected)
