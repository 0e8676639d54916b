from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from truelabel.annotations import Annotations
from truelabel.corruption import ConfusedAnnotators
from truelabel.data import Dataset
from truelabel.experiments.measures.measure import Outcome
from truelabel.experiments.measures.noisy_test import noisy_test
from truelabel.experiments.scene import Scene
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.metrics import log_likelihood
from truelabel.networks import MLP
from truelabel.noise import GaussianLogits, LogisticNormal, NoiseModel, NoNoise, Transition

FLIP = torch.tensor([[0.7, 0.3, 0.0], [0.0, 0.8, 0.2], [0.1, 0.0, 0.9]])


def outcome(noise: NoiseModel, simulated: bool = True) -> Outcome:
    rng = np.random.default_rng(0)
    data = Dataset(
        rng.normal(scale=20, size=(2500, 4)).astype(np.float32), rng.integers(3, size=2500), (0, 1, 2), "made up"
    )
    said = Annotations.from_labels(data.labels, classes=3)
    corruption = ConfusedAnnotators(FLIP) if simulated else None
    scene = Scene(data, data, said, corruption, 3, torch.device("cpu"))
    return Outcome(scene, Classifier(MLP(4, 8), noise, CrossEntropy()).eval())


@torch.no_grad()
def test_the_model_of_the_noise_counts_not_the_clean_answer() -> None:
    case = outcome(Transition(8, 3, FLIP))
    heard = torch.from_numpy(case.scene.said_of_test.label).long().numpy()
    clean = case.learner.predict(case.scene.test_inputs).clean.exp().double()
    scores = noisy_test(case)
    assert scores["noisy_log_likelihood"] == pytest.approx(log_likelihood(clean @ FLIP.double(), heard), abs=1e-5)
    assert scores["noisy_accuracy"] == pytest.approx(float((clean.argmax(-1).numpy() == heard).mean()))
    assert abs(scores["noisy_log_likelihood"] - log_likelihood(clean, heard)) > 0.01


def test_test_labels_go_wrong_as_often_as_training_labels() -> None:
    case = outcome(NoNoise(8, 3))
    wrong = case.scene.said_of_test.label != case.scene.test.labels
    # Rates of 0.3, 0.2 and 0.1; five standard errors.
    assert wrong.mean() == pytest.approx(0.2, abs=5 * math.sqrt(0.16 / 2500))


def test_sampled_probabilities_are_their_mean_and_then_the_logarithm() -> None:
    case = outcome(GaussianLogits(8, 3, temperature=0.5, prediction_samples=16))
    probs = case.learner.uncertainty(case.scene.test_inputs).probs
    expected = log_likelihood(probs, case.scene.said_of_test.label.astype(np.int64))
    assert noisy_test(case)["noisy_log_likelihood"] == pytest.approx(expected, abs=1e-5)


def test_a_density_has_no_likelihood_of_labels() -> None:
    assert noisy_test(outcome(LogisticNormal(8, 3))).keys() == {"noisy_accuracy"}


def test_nobody_knows_what_people_would_have_said() -> None:
    assert noisy_test(outcome(NoNoise(8, 3), simulated=False)) == {}
