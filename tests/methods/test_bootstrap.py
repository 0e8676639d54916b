from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from truelabel.learners import Classifier
from truelabel.losses import HardBootstrap, SoftBootstrap
from truelabel.methods import Method, get_method, learn
from truelabel.training import Blueprint, Engine, Job

Accuracy = Callable[[Method, int], float]
CPU = Engine(device="cpu")
SOFT, HARD = get_method("soft-bootstrap"), get_method("hard-bootstrap")


@pytest.mark.long
def test_both_beat_cross_entropy_under_symmetric_noise(accuracy: Accuracy) -> None:
    plain, soft, hard = (
        np.mean([accuracy(method, seed) for seed in range(3)])
        for method in (get_method("cross-entropy"), SOFT.with_options(beta=0.4), HARD.with_options(beta=0.5))
    )
    assert soft > plain + 0.06
    assert hard > plain + 0.03


@pytest.mark.parametrize("method", [SOFT, HARD])
def test_full_trust_is_cross_entropy(method: Method, short: Job) -> None:
    plain = learn(get_method("cross-entropy"), short, CPU).learner
    trusting = learn(method.with_options(beta=1.0), short, CPU).learner
    for ours, theirs in zip(trusting.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_the_option_is_that_of_the_loss() -> None:
    assert (SOFT.options(), HARD.options()) == ({"beta": 0.95}, {"beta": 0.8})
    plan = Blueprint("mlp:8", (2,), classes=3, annotators=1)
    for method, loss in ((SOFT, SoftBootstrap(0.3)), (HARD, HardBootstrap(0.3))):
        learner = method.with_options(beta=0.3).learner(plan)
        assert isinstance(learner, Classifier)
        assert learner.loss == loss


@pytest.mark.parametrize("method", [SOFT, HARD])
@pytest.mark.parametrize("beta", [-0.1, 1.1])
def test_the_option_checks_itself(method: Method, beta: float) -> None:
    with pytest.raises(ValueError, match=rf"^beta must lie in \[0, 1\], got {beta}$"):
        method.with_options(beta=beta)
