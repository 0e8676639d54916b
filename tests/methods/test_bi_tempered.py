from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from truelabel.learners import Classifier
from truelabel.losses import BiTempered
from truelabel.methods import Method, get_method, learn
from truelabel.noise import TemperedHead
from truelabel.training import Blueprint, Engine, Job

Accuracy = Callable[[Method, int], float]
CPU = Engine(device="cpu")
METHOD = get_method("bi-tempered")


@pytest.mark.long
def test_it_beats_cross_entropy_under_symmetric_noise(accuracy: Accuracy) -> None:
    robust = METHOD.with_options(t1=0.5, t2=4.0)
    for seed in range(2):
        assert accuracy(robust, seed) > accuracy(get_method("cross-entropy"), seed) + 0.12


def test_temperatures_of_one_are_cross_entropy(short: Job) -> None:
    plain = learn(get_method("cross-entropy"), short, CPU).learner
    tempered = learn(METHOD.with_options(t1=1.0, t2=1.0), short, CPU).learner
    for ours, theirs in zip(tempered.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_loss_and_head_share_their_temperature() -> None:
    assert METHOD.options() == {"t1": 0.7, "t2": 2.0}
    assert METHOD.grid == {"t1": (0.5, 0.7, 0.9), "t2": (1.1, 2.0, 4.0)}
    learner = METHOD.with_options(t1=0.5, t2=4.0).learner(Blueprint("mlp:8", (2,), classes=3, annotators=1))
    assert isinstance(learner, Classifier)
    assert learner.loss == BiTempered(0.5, 4.0)
    assert isinstance(learner.noise, TemperedHead)
    assert learner.noise.temperature == 4.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"t1": 2.5}, r"^t1 must lie in \[0, 2\), got 2.5$"),
        ({"t2": -1.0}, "^t2 must be positive, got -1.0$"),
        ({"t2": 0.5}, "^t1 must not exceed t2, or its gradient is unbounded; got 0.7 and 0.5$"),
    ],
)
def test_the_options_check_themselves(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        METHOD.with_options(**options)
