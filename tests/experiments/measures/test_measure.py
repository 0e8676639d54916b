from __future__ import annotations

import torch

from truelabel.annotations import Annotations
from truelabel.data import two_moons
from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.scene import Scene
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import build
from truelabel.noise import NoNoise


def test_test_examples_are_predicted_once_for_all_measures() -> None:
    data = two_moons(30, 0.1, torch.Generator().manual_seed(0))
    scene = Scene(data, data, Annotations.from_labels(data.labels, classes=2), None, 0, torch.device("cpu"))
    learner = Classifier(build("mlp:4", (2,)), NoNoise(4, 2), CrossEntropy())
    outcome = Outcome(scene, learner)
    first = outcome.test_probs
    with torch.no_grad():
        expected = learner.eval().predict(torch.from_numpy(data.inputs)).clean.exp()
    torch.testing.assert_close(first, expected)
    assert outcome.test_probs is first
