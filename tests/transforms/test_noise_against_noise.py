from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import MLP
from truelabel.noise import NoNoise
from truelabel.transforms import NoiseAgainstNoise
from truelabel.types import Batch

CLASSES = 4


def a_batch(labels: Tensor, soft: Tensor | None = None) -> Batch:
    n, s = len(labels), labels.shape[-1]
    nobody = torch.zeros(n, s, dtype=torch.long)
    return Batch(torch.randn(n, 3), labels, nobody, torch.rand(n, s) + 0.5, soft, torch.arange(n))


def targets(transform: NoiseAgainstNoise, batch: Batch) -> Tensor:
    soft = transform(batch).soft
    assert soft is not None
    return soft


def a_learner() -> Classifier:
    return Classifier(MLP(3, width=8), NoNoise(8, CLASSES), CrossEntropy())


def test_without_noise_it_is_cross_entropy() -> None:
    batch, learner = a_batch(torch.randint(-1, CLASSES, (20, 2))), a_learner()
    quiet = NoiseAgainstNoise(CLASSES, sigma=0.0)(batch)
    assert quiet.soft is not None
    ours, theirs = learner(quiet).losses, learner(batch).losses
    torch.testing.assert_close(ours, theirs)
    for first, second in zip(
        torch.autograd.grad(ours.sum(), list(learner.parameters())),
        torch.autograd.grad(theirs.sum(), list(learner.parameters())),
        strict=True,
    ):
        torch.testing.assert_close(first, second)
    assert (batch.labels < 0).any()


@pytest.mark.parametrize("sigma", [0.2, 1.0])
def test_targets_are_one_hot_plus_independent_gaussians(sigma: float) -> None:
    labels = torch.tensor([[0, 1], [3, 3]]).repeat(5000, 1)
    noise = targets(NoiseAgainstNoise(CLASSES, sigma), a_batch(labels)) - torch.eye(CLASSES)[labels]
    assert noise.shape == (10000, 2, CLASSES)
    flat = noise.flatten(1)
    error = sigma / math.sqrt(10000)
    assert flat.mean(0).abs().max() < 4.5 * error
    # Noise shared between slots or classes, or targets that summed to one, would show off the diagonal.
    covariance = torch.cov(flat.T) / sigma**2
    torch.testing.assert_close(covariance, torch.eye(2 * CLASSES), atol=0.06, rtol=0)
    # Gaussian: 68.27 % within one standard deviation.
    assert ((flat.abs() < sigma).float().mean() - 0.6827).abs() < 0.006


def test_noise_is_fresh_at_every_step_and_follows_the_seed() -> None:
    batch, transform = a_batch(torch.randint(CLASSES, (6, 2))), NoiseAgainstNoise(CLASSES)
    torch.manual_seed(5)
    first, second = targets(transform, batch), targets(transform, batch)
    torch.manual_seed(5)
    assert torch.equal(targets(transform, batch), first)
    assert not torch.equal(first, second)


def test_missing_slots_stay_missing() -> None:
    labels = torch.tensor([[-1, -1], [2, -1]])
    batch, learner = a_batch(labels), a_learner()
    noisy = NoiseAgainstNoise(CLASSES)(batch)
    assert torch.equal(noisy.labels, labels)
    for name in ("inputs", "annotators", "weights", "index"):
        assert getattr(noisy, name) is getattr(batch, name)
    losses = learner(noisy).losses
    log_probs = learner.predict(batch.inputs).clean
    assert noisy.soft is not None
    expected = -batch.weights[1, 0] * (noisy.soft[1, 0] * log_probs[1]).sum()
    torch.testing.assert_close(losses, torch.stack([torch.zeros(()), expected]))


def test_pixels_have_noise_of_their_own() -> None:
    labels = torch.randint(CLASSES, (3, 4, 5, 2))
    noise = targets(NoiseAgainstNoise(CLASSES), a_batch(labels)) - torch.eye(CLASSES)[labels]
    assert noise.shape == (3, 4, 5, 2, CLASSES)
    assert len(noise.flatten().unique()) > 470


def test_soft_targets_get_noise_too_and_are_left_alone() -> None:
    soft = torch.rand(4000, 1, CLASSES)
    before = soft.clone()
    batch = a_batch(torch.zeros(4000, 1, dtype=torch.long), soft)
    noise = targets(NoiseAgainstNoise(CLASSES, 0.3), batch) - before
    assert torch.equal(soft, before)
    assert noise.mean().abs() < 0.01
    assert noise.std().item() == pytest.approx(0.3, rel=0.03)


@pytest.mark.parametrize("sigma", [-0.1, math.nan])
def test_sigma_checks_itself(sigma: float) -> None:
    with pytest.raises(ValueError, match=f"^sigma must not be negative, got {sigma!r}$"):
        NoiseAgainstNoise(CLASSES, sigma)
