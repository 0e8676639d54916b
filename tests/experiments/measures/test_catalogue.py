from __future__ import annotations

import pytest
import torch

from truelabel.annotations import Annotations
from truelabel.data import two_moons
from truelabel.experiments.measures import MEASURES, Outcome, measure_all
from truelabel.experiments.scene import Scene
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import build
from truelabel.noise import NoNoise


def test_scores_of_several_measures_come_together_and_unknown_ones_are_refused() -> None:
    data = two_moons(20, 0.1, torch.Generator().manual_seed(0))
    scene = Scene(data, data, Annotations.from_labels(1 - data.labels, classes=2), None, 0, torch.device("cpu"))
    learner = Classifier(build("mlp:4", (2,)), NoNoise(4, 2), CrossEntropy())
    scores = measure_all(["accuracy", "training-accuracy"], Outcome(scene, learner))
    # Every training label is wrong: to fit one is to be wrong.
    assert scores.keys() == {"accuracy", "fits_wrong_labels"}
    assert scores["accuracy"] == pytest.approx(1 - scores["fits_wrong_labels"])
    with pytest.raises(ValueError, match="there is no measure 'beauty': choose from accuracy"):
        measure_all(["beauty"], Outcome(scene, learner))
    assert "residuals" in MEASURES
