from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from truelabel import Annotations
from truelabel.learners import CausalNL, ElboWeights
from truelabel.methods import Method, get_method, learn
from truelabel.training import Blueprint, Engine, Job, TrainingConfig, clean_probs

CPU = Engine(device="cpu")
METHOD = get_method("causal-nl")


def accuracy(method: Method, seed: int) -> float:
    """On 1,000 points of two parallel bands, learned by heart from 300 of which 40 % have the other band's label."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 1300)
    across, along = 1.5 * (2 * truth - 1) + 0.4 * rng.normal(size=1300), 1.5 * rng.normal(size=1300)
    inputs = np.stack([across, along], 1).astype(np.float32)
    said = np.where(rng.random(1300) < 0.4, 1 - truth, truth)[:300]
    config = TrainingConfig(epochs=60, batch_size=100, learning_rate=5e-3, validation=0.0)
    learned = learn(method, Job(inputs[:300], Annotations.from_labels(said), "mlp:64", config, seed), CPU)
    answer = clean_probs(learned.learner, torch.from_numpy(inputs[300:])).argmax(-1).numpy()
    return float((answer == truth[300:]).mean())


@pytest.mark.long
def test_it_beats_cross_entropy_where_classes_are_bands() -> None:
    ours = METHOD.with_options(
        latent=1,
        relaxation="exact",
        reconstruction="squared",
        reconstruction_weight=1.0,
        label_weight=1.0,
        latent_weight=0.1,
        entropy_weight=0.3,
        noise_rate=0.4,
    )
    scores = [np.mean([accuracy(method, seed) for seed in range(3)]) for method in (ours, get_method("cross-entropy"))]
    assert scores[0] > scores[1] + 0.08


def test_options_reach_the_learner() -> None:
    plan = Blueprint("mlp:8", (3,), classes=4, annotators=1)
    learner = METHOD.with_options(
        latent=2,
        teaching_weight=0.5,
        reconstruction_weight=0.2,
        label_weight=0.3,
        entropy_weight=0.4,
        latent_weight=0.6,
        reconstruction="squared",
        relaxation="exact",
        temperature=0.7,
        labels_first=0.2,
    ).learner(plan)
    assert isinstance(learner, CausalNL)
    assert learner.weights == ElboWeights(teaching=0.5, reconstruction=0.2, labels=0.3, entropy=0.4, latent=0.6)
    assert (learner.latent, learner.classes) == (2, 4)
    assert (learner.reconstruction, learner.relaxation) == ("squared", "exact")
    assert (learner.temperature, learner.labels_first) == (0.7, 0.2)


def test_the_defaults_are_the_papers() -> None:
    options = METHOD.options()
    assert [options[f"{name}_weight"] for name in ("reconstruction", "label", "entropy", "latent")] == [
        0.1,
        0.1,
        1e-5,
        0.01,
    ]
    assert (options["latent"], options["ramp"]) == (25, 10)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"latent": 0}, "latent must be a whole number of at least 1, got 0"),
        ({"reconstruction": "cubic"}, "reconstruction must be one of absolute, squared, got 'cubic'"),
        ({"relaxation": "hard"}, "relaxation must be one of soft, straight-through, exact, got 'hard'"),
        ({"temperature": 0.0}, "temperature must be positive, got 0.0"),
        ({"latent_weight": -0.1}, "the weight of latent must be finite and not negative, got -0.1"),
        ({"labels_first": 1.5}, r"labels_first must be a share of the training in \[0, 1\], got 1.5"),
        ({"ramp": -2}, "ramp must be a number of epochs, 0 or more, got -2"),
    ],
)
def test_options_check_themselves(option: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        METHOD.with_options(**option)
