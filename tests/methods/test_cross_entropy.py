from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from lightning_fabric import Fabric
from numpy.typing import NDArray
from torch.nn.functional import log_softmax

from truelabel import Annotations
from truelabel.data import Dataset
from truelabel.methods import get_method, learn
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.training import Blueprint, Engine, Job, Run, TrainingSet, clean_probs

CPU = Engine(device="cpu")


def test_it_is_far_better_than_the_labels_it_learned_from(
    job: Job, moons: tuple[Dataset, Dataset], said: NDArray[np.int64]
) -> None:
    train, test = moons
    learned = learn(get_method("cross-entropy"), job, CPU)
    answer = clean_probs(learned.learner, torch.from_numpy(test.inputs)).argmax(-1).numpy()
    labels_right = (said == train.labels[:, None]).mean()
    assert 0.67 < labels_right < 0.73
    assert (answer == test.labels).mean() > labels_right + 0.2


def test_every_label_counts_once() -> None:
    plan = Blueprint("mlp:8", (2,), classes=3, annotators=2)
    learner = plain_classifier(plan)
    inputs = torch.randn(4, 2)
    matrix = [[0, 2], [1, -1], [-1, -1], [2, 2]]
    batch = TrainingSet(inputs, Annotations.from_matrix(matrix, classes=3)).batch(torch.arange(4))
    with torch.no_grad():
        losses = learner(batch).losses
        log_probs = log_softmax(learner.predict(inputs).clean, -1)
    expected = [-sum(log_probs[n, label] for label in row if label >= 0) for n, row in enumerate(matrix)]
    assert torch.allclose(losses, torch.tensor([float(value) for value in expected]), atol=1e-6)


def test_disagreement_becomes_a_soft_target() -> None:
    # One point, of which three annotators say 0 and one says 1: the best answer is three quarters.
    inputs = np.ones((64, 1), np.float32)
    annotations = Annotations.from_matrix(np.tile([0, 0, 0, 1], (64, 1)))
    job = Job(inputs, annotations, "mlp:8", seed=0)
    job = replace(job, config=replace(job.config, epochs=60, batch_size=16, learning_rate=0.02, validation=0.0))
    learned = learn(get_method("cross-entropy"), job, CPU)
    assert abs(clean_probs(learned.learner, torch.ones(1, 1))[0, 0].item() - 0.75) < 0.02


def test_it_has_no_options_and_trains_one_stage(short: Job) -> None:
    method = get_method("cross-entropy")
    assert method.options() == {}
    run = Run(short, _fabric())
    learned = method.learn(run)
    assert len(learned.history.rows) == 1


def _fabric() -> Fabric:
    fabric = CPU.fabric("32-true")
    fabric.launch()
    return fabric
