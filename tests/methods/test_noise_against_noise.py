from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from truelabel.learners import Learner
from truelabel.methods import Method, get_method, learn
from truelabel.training import Engine, Fitted, History, Job, Run
from truelabel.transforms import NoiseAgainstNoise

Accuracy = Callable[[Method, int], float]
CPU = Engine(device="cpu")
METHOD = get_method("noise-against-noise")


@pytest.mark.long
def test_it_beats_cross_entropy_under_symmetric_noise(accuracy: Accuracy) -> None:
    plain, noisy = (
        np.mean([accuracy(method, seed) for seed in range(3)])
        for method in (get_method("cross-entropy"), METHOD.with_options(sigma=1.0))
    )
    assert noisy > plain + 0.08


def test_without_noise_it_is_cross_entropy(short: Job) -> None:
    plain = learn(get_method("cross-entropy"), short, CPU).learner
    quiet = learn(METHOD.with_options(sigma=0.0), short, CPU).learner
    for ours, theirs in zip(quiet.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_it_trains_one_stage_on_noisy_targets(short: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def fit(self: Run, stage: str, peers: list[Learner], **options: object) -> Fitted:
        seen.append((stage, options))
        return Fitted(peers, History())

    monkeypatch.setattr(Run, "fit", fit)
    learn(METHOD.with_options(sigma=0.2), short, CPU)
    assert seen == [("main", {"transforms": [NoiseAgainstNoise(2, 0.2)]})]


def test_the_option_checks_itself() -> None:
    assert METHOD.options() == {"sigma": 0.5}
    assert METHOD.grid == {"sigma": (0.1, 0.2, 0.5, 0.75, 1.0)}
    with pytest.raises(ValueError, match=r"^sigma must not be negative, got -1.0$"):
        METHOD.with_options(sigma=-1.0)
