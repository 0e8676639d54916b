from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from truelabel import Annotations
from truelabel.corruption import ConfusedAnnotators, InstanceDependent
from truelabel.data import Dataset
from truelabel.experiments.measures import MEASURES, Outcome
from truelabel.experiments.scene import Scene
from truelabel.learners import CausalNL, Learner
from truelabel.networks import MLP
from truelabel.types import Batch, Categorical, Prediction, Step

POINTS, CLASSES = 300, 3


class Known(Learner):
    """Answers from tables: the first value of an input is its row."""

    def __init__(self, classes: Tensor, matrices: Tensor | None) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.classes, self.matrices = classes, matrices

    def forward(self, batch: Batch) -> Step:
        raise NotImplementedError

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        chosen = self.classes[inputs[:, 0].long()]
        log_probs = (nn.functional.one_hot(chosen, CLASSES).float() * 9).log_softmax(-1)
        return Prediction(log_probs, Categorical(log_probs.unsqueeze(-2)), log_probs.new_zeros(()))

    def matrices_at(self, inputs: Tensor, annotators: Tensor) -> Tensor | None:
        return None if self.matrices is None else self.matrices[inputs[:, 0].long()].unsqueeze(1)


@pytest.fixture(scope="module")
def scene() -> Scene:
    rng = np.random.default_rng(0)
    inputs = np.stack([np.arange(POINTS), rng.normal(size=POINTS)], 1).astype(np.float32)
    data = Dataset(inputs, rng.integers(0, CLASSES, POINTS), tuple(range(CLASSES)), "rows")
    noise = InstanceDependent(0.4, CLASSES)
    said = noise(torch.from_numpy(data.labels), torch.from_numpy(inputs), torch.Generator().manual_seed(0))
    return Scene(data, data.take(slice(5)), said, noise, 0, torch.device("cpu"))


def rows_of(scene: Scene) -> Tensor:
    assert isinstance(scene.corruption, InstanceDependent)
    return scene.corruption.transition


def with_row(scene: Scene, rows: Tensor) -> Tensor:
    """Matrices that have these rows for the true class, and nonsense in all others."""
    matrices = torch.full((POINTS, CLASSES, CLASSES), 1 / CLASSES, dtype=torch.double)
    matrices[torch.arange(POINTS), torch.from_numpy(scene.train.labels)] = rows
    return matrices


def test_who_knows_the_truth_recovers_all_and_who_believes_labels_no_wrong_one(scene: Scene) -> None:
    truth, said = torch.from_numpy(scene.train.labels), torch.from_numpy(scene.said.label).long()
    assert MEASURES["recovered-labels"](Outcome(scene, Known(truth, None))) == {
        "recovers_labels": 1.0,
        "recovers_wrong_labels": 1.0,
    }
    believing = MEASURES["recovered-labels"](Outcome(scene, Known(said, None)))
    assert believing["recovers_wrong_labels"] == 0
    assert believing["recovers_labels"] == pytest.approx(np.mean(said.numpy() == truth.numpy()))


def test_recovered_labels_are_counted_one_by_one(scene: Scene) -> None:
    guess = torch.arange(POINTS) % CLASSES
    scores = MEASURES["recovered-labels"](Outcome(scene, Known(guess, None)))
    right = [int(guess[n]) == scene.train.labels[n] for n in range(POINTS)]
    wrong = [n for n in range(POINTS) if scene.said.label[n] != scene.train.labels[n]]
    assert scores["recovers_labels"] == pytest.approx(sum(right) / POINTS)
    assert scores["recovers_wrong_labels"] == pytest.approx(sum(right[n] for n in wrong) / len(wrong))


def test_labels_that_are_all_right_or_of_people_have_nothing_to_recover(scene: Scene) -> None:
    truth = torch.from_numpy(scene.train.labels)
    right = replace(scene, said=Annotations.from_labels(scene.train.labels, classes=CLASSES))
    assert MEASURES["recovered-labels"](Outcome(right, Known(truth, None))) == {"recovers_labels": 1.0}
    assert MEASURES["recovered-labels"](Outcome(replace(scene, corruption=None), Known(truth, None))) == {}


def test_the_true_transition_is_no_distance_away(scene: Scene) -> None:
    learner = Known(torch.zeros(POINTS, dtype=torch.long), with_row(scene, rows_of(scene)))
    assert MEASURES["instance-transition"](Outcome(scene, learner)) == {"transition_error": pytest.approx(0, abs=1e-7)}


def test_a_transition_that_never_errs_is_off_by_the_mean_rate(scene: Scene) -> None:
    identity = torch.eye(CLASSES, dtype=torch.double).expand(POINTS, CLASSES, CLASSES)
    learner = Known(torch.zeros(POINTS, dtype=torch.long), identity)
    rates = [1 - float(rows_of(scene)[n, scene.train.labels[n]]) for n in range(POINTS)]
    scores = MEASURES["instance-transition"](Outcome(scene, learner))
    assert scores == {"transition_error": pytest.approx(np.mean(rates))}


def test_knowing_all_but_the_drawn_rates_leaves_their_mean_deviation(scene: Scene) -> None:
    """The floor that the measure's docstring and the figure's notes name."""
    rows, labels = rows_of(scene), torch.from_numpy(scene.train.labels)
    rates = 1 - rows[torch.arange(POINTS), labels]
    known = rows / rates.unsqueeze(-1) * 0.4
    known[torch.arange(POINTS), labels] = 0.6
    learner = Known(torch.zeros(POINTS, dtype=torch.long), with_row(scene, known))
    error = MEASURES["instance-transition"](Outcome(scene, learner))["transition_error"]
    assert error == pytest.approx(float((rates - 0.4).abs().mean()))
    assert error == pytest.approx(0.1 * np.sqrt(2 / np.pi), abs=0.01)


def test_the_transition_of_causal_nl_is_that_of_its_decoder(scene: Scene) -> None:
    learner = CausalNL(MLP(2, width=8), CLASSES, (2,), latent=1).eval()
    far = []
    for n in range(POINTS):
        with torch.no_grad():
            row = learner.transition(torch.from_numpy(scene.train.inputs[n : n + 1]))[0, scene.train.labels[n]]
        far.append(0.5 * float((row.double() - rows_of(scene)[n]).abs().sum()))
    scores = MEASURES["instance-transition"](Outcome(scene, learner))
    assert scores == {"transition_error": pytest.approx(np.mean(far), abs=1e-6)}


def test_no_matrices_or_noise_by_class_gives_no_transition_error(scene: Scene) -> None:
    nobody = Known(torch.zeros(POINTS, dtype=torch.long), None)
    assert MEASURES["instance-transition"](Outcome(scene, nobody)) == {}
    by_class = replace(scene, corruption=ConfusedAnnotators(torch.eye(CLASSES)))
    learner = Known(torch.zeros(POINTS, dtype=torch.long), with_row(scene, rows_of(scene)))
    assert MEASURES["instance-transition"](Outcome(by_class, learner)) == {}
