from __future__ import annotations

import numpy as np
import pytest
import torch

from truelabel import Annotations
from truelabel.learners import Classifier
from truelabel.losses import GeneralizedCrossEntropy
from truelabel.methods import Method, get_method, learn
from truelabel.training import Blueprint, Engine, Job, TrainingConfig, clean_probs

CPU = Engine(device="cpu")
METHOD = get_method("generalized-cross-entropy")


def accuracy(method: Method, seed: int) -> float:
    """On 1,000 points of four blobs, learned by heart from 300 of which 45 % have a wrong label of any class."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, 1300)
    inputs = (3 * np.eye(4, 5)[truth] + rng.normal(size=(1300, 5))).astype(np.float32)
    wrong = (truth + rng.integers(1, 4, 1300)) % 4
    said = np.where(rng.random(1300) < 0.45, wrong, truth)[:300]
    config = TrainingConfig(epochs=100, batch_size=100, learning_rate=0.005, validation=0.0)
    learned = learn(method, Job(inputs[:300], Annotations.from_labels(said), "mlp:64", config, seed), CPU)
    answer = clean_probs(learned.learner, torch.from_numpy(inputs[300:])).argmax(-1).numpy()
    return float((answer == truth[300:]).mean())


def test_it_beats_cross_entropy_under_symmetric_noise() -> None:
    for seed in range(3):
        assert accuracy(METHOD, seed) > accuracy(get_method("cross-entropy"), seed) + 0.08


def test_the_option_is_that_of_the_loss() -> None:
    assert METHOD.options() == {"q": 0.7}
    assert METHOD.grid == {"q": (0.1, 0.3, 0.5, 0.7, 0.9)}
    learner = METHOD.with_options(q=0.3).learner(Blueprint("mlp:8", (2,), classes=3, annotators=1))
    assert isinstance(learner, Classifier)
    assert learner.loss == GeneralizedCrossEntropy(0.3)


@pytest.mark.parametrize("q", [0.0, 1.5])
def test_the_option_checks_itself(q: float) -> None:
    with pytest.raises(ValueError, match=r"^q must lie in \(0, 1\], got .*: use cross entropy for q = 0$"):
        METHOD.with_options(q=q)
