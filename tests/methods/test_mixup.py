from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from truelabel.learners import Learner
from truelabel.methods import Method, get_method, learn
from truelabel.training import Engine, Fitted, History, Job, Run
from truelabel.transforms import Mixup

Accuracy = Callable[[Method, int], float]
CPU = Engine(device="cpu")
METHOD = get_method("mixup")


@pytest.mark.long
def test_it_beats_cross_entropy_under_symmetric_noise(accuracy: Accuracy) -> None:
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
