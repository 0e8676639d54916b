from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from truelabel import Annotations
from truelabel.learners import Classifier
from truelabel.methods import get_method, learn
from truelabel.noise import GaussianLogits
from truelabel.training import Blueprint, Engine, Job, TrainingConfig, clean_probs

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
        ("heteroscedastic-full", {"factors": -1}),
    ],
)
def test_options_check_themselves(name: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        get_method(name).with_options(**options)
