from __future__ import annotations

import numpy as np
import pytest
import torch

from truelabel import Annotations
from truelabel.learners import Learner
from truelabel.methods import Method, get_method, learn
from truelabel.training import Engine, Fitted, History, Job, Run, TrainingConfig, clean_probs
from truelabel.transforms import Mixup

CPU = Engine(device="cpu")
METHOD = get_method("mixup")


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
    ours, theirs = ([accuracy(method, seed) for seed in range(3)] for method in (METHOD, get_method("cross-entropy")))
    assert np.mean(ours) > np.mean(theirs) + 0.05


def test_it_trains_one_stage_on_mixed_batches(short: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fit(self: Run, stage: str, peers: list[Learner], **options: object) -> Fitted:
        seen.append((stage, options))
        return Fitted(peers, History())

    monkeypatch.setattr(Run, "fit", fit)
    learn(METHOD.with_options(alpha=8.0), short, CPU)
    assert seen == [("main", {"transforms": [Mixup(8.0)]})]


def test_the_option_checks_itself() -> None:
    assert METHOD.options() == {"alpha": 1.0}
    with pytest.raises(ValueError, match=r"^alpha must be positive, got 0.0$"):
        METHOD.with_options(alpha=0.0)
