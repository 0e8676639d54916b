from __future__ import annotations

import numpy as np
import pytest
import torch

from truelabel.annotations import Annotations
from truelabel.data import Dataset
from truelabel.experiments.measures.accuracy import accuracy, training_accuracy
from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.scene import Scene
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import build
from truelabel.noise import NoNoise


@pytest.fixture
def outcome() -> Outcome:
    """A learner that answers with the sign of the first input: one of four test examples is wrong."""
    inputs = np.array([[1.0, 0], [-1, 0], [2, 0], [-2, 0]], np.float32)
    train = Dataset(inputs, np.array([1, 0, 1, 0]), (0, 1), "train")
    test = Dataset(inputs, np.array([1, 0, 1, 1]), (0, 1), "test")
    said = Annotations.from_labels(np.array([1, 1, 0, 0]), classes=2)  # the second and third are wrong
    network = build(lambda shape: torch.nn.Identity(), (2,))
    noise = NoNoise(2, 2)
    with torch.no_grad():
        noise.head.weight.copy_(torch.tensor([[-1.0, 0.0], [1.0, 0.0]]))
        noise.head.bias.zero_()
    scene = Scene(train, test, said, None, 0, torch.device("cpu"))
    return Outcome(scene, Classifier(network, noise, CrossEntropy()).eval())


def test_the_share_of_right_answers(outcome: Outcome) -> None:
    assert accuracy(outcome) == {"accuracy": 0.75}


def test_training_labels_by_whether_they_are_right(outcome: Outcome) -> None:
    assert training_accuracy(outcome) == {"fits_right_labels": 1.0, "fits_wrong_labels": 0.0}
