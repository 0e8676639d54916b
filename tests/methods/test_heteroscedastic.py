from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from truelabel import Annotations
from truelabel.learners import Classifier
from truelabel.methods import get_method, learn
from truelabel.noise import GaussianLogits
from truelabel.training import Blueprint, Engine, Job, Run, TrainingConfig, clean_probs

CPU = Engine(device="cpu")
NAMES = ("heteroscedastic", "heteroscedastic-temperature", "heteroscedastic-full")


def noisy_half() -> tuple[Any, Any, Any]:
    """Two classes on a line; on the right half of the plane a third of the labels is wrong, on the left none."""
    rng = np.random.default_rng(0)
    inputs = rng.uniform(-1, 1, (600, 2)).astype(np.float32)
    truth = (inputs[:, 1] > 0).astype(int)
    flipped = (inputs[:, 0] > 0) & (rng.random(600) < 0.35)
    return inputs, truth, np.where(flipped, 1 - truth, truth)


@pytest.mark.parametrize("name", NAMES)
def test_it_finds_where_the_labels_are_noisy(name: str) -> None:
    inputs, truth, said = noisy_half()
    method = get_method(name).with_options(samples=50, prediction_samples=200)
    config = TrainingConfig(epochs=25, batch_size=100, learning_rate=0.01, validation=0.0)
    learned = learn(method, Job(inputs, Annotations.from_labels(said), "mlp:32", config, 0), CPU)
    assert isinstance(learned.learner, Classifier)
    probs = clean_probs(learned.learner, torch.from_numpy(inputs)).numpy()
    assert (probs.argmax(-1) == truth).mean() > 0.9
    far = np.abs(inputs[:, 1]) > 0.4
    noisy, clear = probs.max(-1)[far & (inputs[:, 0] > 0.2)], probs.max(-1)[far & (inputs[:, 0] < -0.2)]
    assert noisy.mean() < 0.85
    assert clear.mean() > 0.93


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("heteroscedastic", {"samples": 7}, (1.0, 0, 7)),
        ("heteroscedastic-temperature", {"temperature": 3.0}, (3.0, 0, 1000)),
        ("heteroscedastic-full", {"temperature": 0.5, "factors": 2}, (0.5, 2, 1000)),
    ],
)
def test_the_options_reach_the_head(name: str, options: dict[str, Any], expected: tuple[float, int, int]) -> None:
    learner = get_method(name).with_options(**options).learner(Blueprint("mlp:8", (5,), 4, 1))
    assert isinstance(learner, Classifier)
    noise = learner.noise
    assert isinstance(noise, GaussianLogits)
    assert (noise.temperature, noise.factors, noise.samples) == expected


def test_the_papers_choose_by_likelihood_and_by_accuracy() -> None:
    assert get_method("heteroscedastic-temperature").search_score == "likelihood"
    assert len(get_method("heteroscedastic-temperature").grid["temperature"]) == 18
    assert get_method("heteroscedastic-full").search_score == "accuracy"


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("heteroscedastic", {"samples": 0}),
        ("heteroscedastic-temperature", {"temperature": 0.0}),
        ("heteroscedastic-temperature", {"upsample": 0}),
        ("heteroscedastic-full", {"factors": -1}),
    ],
)
def test_options_check_themselves(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        get_method(name).with_options(**options)


def discs(count: int, side: int) -> tuple[Any, Any]:
    """Noisy images of a disc, and its masks."""
    rng = np.random.default_rng(0)
    centre = rng.uniform(6, side - 6, (count, 2, 1, 1))
    row, column = np.mgrid[:side, :side]
    masks = ((row - centre[:, 0]) ** 2 + (column - centre[:, 1]) ** 2 < 25).astype(int)
    images = masks[:, None] + 0.3 * rng.standard_normal((count, 1, side, side))
    return images.astype(np.float32), masks


class Coarse(nn.Module):
    """A network of one's own whose maps are half as high and wide as its images; named outputs, as torchvision has."""

    def __init__(self) -> None:
        super().__init__()
        self.maps = nn.Sequential(nn.Conv2d(1, 8, 5, stride=2, padding=2), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1))

    def forward(self, images: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"out": self.maps(images).relu()}


def test_masks_are_learned_by_a_network_of_lower_resolution() -> None:
    images, masks = discs(24, 20)
    method = get_method("heteroscedastic-temperature").with_options(
        temperature=1.0, samples=10, prediction_samples=50, upsample=2
    )
    config = TrainingConfig(epochs=12, batch_size=6, learning_rate=0.02, validation=0.25)
    job = Job(images, Annotations.from_masks(masks[:, None]), Coarse(), config, 0)
    fabric = CPU.fabric(config.precision)
    fabric.launch()
    learner = method.learn(Run(job, fabric)).learner
    probs = clean_probs(learner, torch.from_numpy(images)).numpy()
    assert probs.shape == (24, 20, 20, 2)
    predicted = probs.argmax(-1)
    dice = 2 * (predicted * masks).sum((1, 2)) / (predicted + masks).sum((1, 2))
    assert dice.mean() > 0.9
    found = learner.uncertainty(torch.from_numpy(images))
    edge = np.abs(np.diff(masks, axis=1, append=masks[:, -1:])) > 0
    assert found.variance.shape == (24, 20, 20, 2)
    assert found.entropy.numpy()[edge].mean() > 3 * found.entropy.numpy()[~edge].mean()
