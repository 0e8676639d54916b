import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.corruption import ConfusedAnnotators
from truelabel.data import Dataset
from truelabel.experiments.measures import MEASURES, Outcome
from truelabel.experiments.measures.annotator_confusion import FEW, annotator_confusion, annotator_matrices
from truelabel.experiments.scene import Scene
from truelabel.learners import Learner
from truelabel.methods import Learned
from truelabel.metrics import confusion_error
from truelabel.training import History
from truelabel.types import Batch, Prediction, Step


class Knows(Learner):
    """A learner that has matrices, and nothing else."""

    def __init__(self, matrices: Tensor | None) -> None:
        super().__init__()
        self.matrices = matrices

    def annotator_confusion(self) -> Tensor | None:
        return self.matrices

    def forward(self, batch: Batch) -> Step:
        raise NotImplementedError

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        raise NotImplementedError


def random_matrices(annotators: int, classes: int, seed: int) -> Tensor:
    rows = torch.rand(annotators, classes, classes, generator=torch.Generator().manual_seed(seed), dtype=torch.double)
    return rows / rows.sum(-1, keepdim=True)


def simulated(true: Tensor) -> Scene:
    classes = true.shape[-1]
    labels = torch.arange(classes).repeat(3)
    annotators = ConfusedAnnotators(true)
    data = Dataset(np.zeros((len(labels), 2), np.float32), labels.numpy(), tuple(range(classes)), "made up")
    said = annotators(labels, None, torch.Generator().manual_seed(0))
    return Scene(data, data, said, annotators, 0, torch.device("cpu"))


def real(labels: list[int], said: list[list[int]], classes: int) -> Scene:
    data = Dataset(np.zeros((len(labels), 2), np.float32), np.array(labels), tuple(range(classes)), "made up")
    given = Annotations.from_matrix(np.array(said), classes=classes)
    return Scene(data, data, given, None, 0, torch.device("cpu"))


def both(outcome: Outcome) -> dict[str, Any]:
    return {**annotator_confusion(outcome), **annotator_matrices(outcome)}


def test_errors_against_loops() -> None:
    true, estimated = random_matrices(3, 4, 0), random_matrices(3, 4, 1)
    scores = both(Outcome(simulated(true), Knows(estimated)))
    t, e = true.tolist(), estimated.tolist()
    each = [sum((e[r][k][j] - t[r][k][j]) ** 2 for k in range(4) for j in range(4)) / 4 for r in range(3)]
    assert scores["confusion_error"] == pytest.approx(sum(each) / 3)
    assert scores["confusion_error"] == pytest.approx(confusion_error(estimated, true))
    assert [scores[f"confusion_error_{r + 1}"] for r in range(3)] == pytest.approx(each)
    of_mean = sum((sum(e[r][k][j] - t[r][k][j] for r in range(3)) / 3) ** 2 for k in range(4) for j in range(4)) / 4
    assert scores["mean_confusion_error"] == pytest.approx(of_mean)
    skills = [[sum(m[r][k][k] for k in range(4)) / 4 for r in range(3)] for m in (e, t)]
    assert scores["skill_error"] == pytest.approx(sum(abs(a - b) for a, b in zip(*skills, strict=True)) / 3)
    assert scores["mean_skill"] == pytest.approx(sum(skills[0]) / 3)
    assert scores["skills_estimated"] == pytest.approx(skills[0], abs=1e-5)
    assert scores["skills_true"] == pytest.approx(skills[1], abs=1e-5)
    assert np.allclose(np.array(scores["confusion_estimated"], float), estimated, atol=1e-5)
    assert np.allclose(np.array(scores["confusion_true"], float), true, atol=1e-5)


def test_best_is_zero_and_worst_is_two() -> None:
    eye = torch.eye(5, dtype=torch.double).repeat(2, 1, 1)
    scene = simulated(eye)
    assert annotator_confusion(Outcome(scene, Knows(eye)))["confusion_error"] == 0
    assert annotator_confusion(Outcome(scene, Knows(eye.roll(1, -1))))["confusion_error"] == 2


def test_classes_that_are_not_dominant_are_those_of_the_estimate() -> None:
    scene = simulated(torch.eye(3, dtype=torch.double)[None])
    estimated = torch.tensor([[[0.9, 0.1, 0.0], [0.3, 0.4, 0.3], [0.0, 0.5, 0.5]]])  # class 1 is named more by 2
    assert annotator_matrices(Outcome(scene, Knows(estimated)))["undominated"] == 1


@pytest.mark.parametrize(("slope", "correlation"), [(0.5, 1.0), (-0.5, -1.0), (0.0, None)])
def test_correlation_of_skills(slope: float, correlation: float | None) -> None:
    def skilled(skills: list[float]) -> Tensor:
        eye = torch.eye(2, dtype=torch.double)
        return torch.stack([p * eye + (1 - p) * eye.flip(0) for p in skills])

    scene = simulated(skilled([0.6, 0.7, 0.9]))
    found = annotator_matrices(Outcome(scene, Knows(skilled([0.5 + slope * p for p in (0.6, 0.7, 0.9)]))))
    assert found.get("skill_correlation") == (None if correlation is None else pytest.approx(correlation))


def test_real_annotators_are_counted_where_they_met_a_class() -> None:
    # The second annotator never met class 2.
    scene = real([0, 0, 1, 1, 2], [[0, 1], [1, 0], [1, 1], [1, 1], [2, -1]], classes=3)
    shared = [[0.5, 0.5, 0.0], [0.0, 1.0, 0.0]]
    true = [[*shared, [0.0, 0.0, 1.0]], shared]
    estimated = random_matrices(2, 3, 3)
    scores = both(Outcome(scene, Knows(estimated)))
    errors = [
        [sum((float(estimated[r, k, j]) - row[j]) ** 2 for j in range(3)) for k, row in enumerate(rows)]
        for r, rows in enumerate(true)
    ]
    assert scores["confusion_error"] == pytest.approx(sum(errors[0] + errors[1]) / 5)
    assert scores["confusion_error_2"] == pytest.approx(sum(errors[1]) / 2)
    assert scores["confusion_true"] == [true[0], [*shared, [None] * 3]]
    assert scores["skills_true"] == pytest.approx([2.5 / 3, 0.75], abs=1e-5)
    mean = (estimated[0] + estimated[1]) / 2
    rows = torch.stack([mean[0], mean[1], estimated[0, 2]])
    expected = float(((rows - torch.tensor(true[0])) ** 2).sum()) / 3
    assert scores["mean_confusion_error"] == pytest.approx(expected)


def test_somebody_who_said_nothing_does_not_count() -> None:
    scene = real([0, 1], [[0, -1], [1, -1]], classes=2)
    scores = both(Outcome(scene, Knows(torch.stack([torch.eye(2), torch.full((2, 2), 0.5)]))))
    assert scores["confusion_error"] == 0
    assert scores["skill_error"] == 0
    assert scores["skills_true"] == [1.0, None]
    assert "confusion_error_2" not in scores


def test_matrices_beside_the_learner_are_taken_if_it_has_none_of_its_own() -> None:
    true, beside = random_matrices(3, 2, 0), random_matrices(3, 2, 1)
    scene = simulated(true)
    for own in (None, torch.eye(2)[None]):
        learner = Knows(own)
        learned = Learned(learner, History(), confusion=beside)
        assert annotator_confusion(Outcome(scene, learner, learned))["confusion_error"] == pytest.approx(
            confusion_error(beside, true)
        )
        assert both(Outcome(scene, learner)) == {}


def test_masks_have_no_matrix_an_annotator_here() -> None:
    masks = np.zeros((2, 3, 4, 4), np.int16)
    given = Annotations.from_masks(masks, classes=2)
    data = Dataset(np.zeros((2, 1, 4, 4), np.float32), masks[:, 0], (0, 1), "made up")
    scene = Scene(data, data, given, None, 0, torch.device("cpu"))
    assert both(Outcome(scene, Knows(torch.eye(2).repeat(3, 1, 1)))) == {}


def test_many_annotators_have_no_error_each() -> None:
    true = random_matrices(FEW + 1, 2, 0)
    scores = annotator_matrices(Outcome(simulated(true), Knows(true)))
    assert not [name for name in scores if name.startswith("confusion_error_")]
    assert len(scores["confusion_estimated"]) == FEW + 1


def test_they_can_be_called_by_name_and_curves_get_numbers() -> None:
    true = random_matrices(3, 4, 0)
    outcome = Outcome(simulated(true), Knows(random_matrices(3, 4, 1)))
    assert all(math.isfinite(value) for value in MEASURES["annotator-confusion"](outcome).values())
    assert "confusion_true" in MEASURES["annotator-matrices"](outcome)
