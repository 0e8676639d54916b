from __future__ import annotations

from collections.abc import Callable

import pytest

from truelabel.learners import Classifier
from truelabel.losses import GeneralizedCrossEntropy
from truelabel.methods import Method, get_method
from truelabel.training import Blueprint, Engine

Accuracy = Callable[[Method, int], float]
CPU = Engine(device="cpu")
METHOD = get_method("generalized-cross-entropy")


@pytest.mark.long
def test_it_beats_cross_entropy_under_symmetric_noise(accuracy: Accuracy) -> None:
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
