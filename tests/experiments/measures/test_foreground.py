from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from truelabel.experiments.measures.foreground import foreground_dice
from truelabel.experiments.measures.measure import Outcome


def overlap(a: set[int], b: set[int]) -> float:
    return 2 * len(a & b) / (len(a) + len(b)) if a or b else 1.0


def test_dice_of_the_foreground_and_of_all_classes(outcome: Callable[..., Outcome]) -> None:
    told = outcome()
    shown = told.scene.test.inputs[:, 0] > 0.5  # what the learner says
    each = []
    for found, true in zip(shown, told.scene.test.labels, strict=True):
        each.append([overlap(set(np.flatnonzero(found == k)), set(np.flatnonzero(true == k))) for k in (0, 1)])
    scores = foreground_dice(told)
    assert scores["dice"] == pytest.approx(np.mean([image[1] for image in each]))
    assert scores["dice_all_classes"] == pytest.approx(np.mean(each))
    assert 0.3 < scores["dice"] < scores["dice_all_classes"] < 1
