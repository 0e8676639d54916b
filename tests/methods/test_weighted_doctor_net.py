from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from truelabel import Annotations
from truelabel.learners import Classifier
from truelabel.methods import Learned, get_method, learn
from truelabel.noise import DoctorHeads
from truelabel.training import Blueprint, Engine, Job, TrainingConfig
from truelabel.training.files import read_tensors

CPU = Engine(device="cpu")
METHOD = get_method("weighted-doctor-net")


def with_batch_norm(shape: tuple[int, ...]) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 16), nn.BatchNorm1d(16), nn.ReLU())


def a_job(skills: list[float], folder: Path | None = None, examples: int = 300) -> Job:
    """Blobs of three classes; everybody is right with their skill and otherwise names any other class."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, examples)
    inputs = (4 * np.eye(3, 4)[truth] + rng.normal(size=(examples, 4))).astype(np.float32)
    wrong = (truth[:, None] + rng.integers(1, 3, (examples, len(skills)))) % 3
    matrix = np.where(rng.random(wrong.shape) < np.array(skills), truth[:, None], wrong)
    config = TrainingConfig(epochs=15, batch_size=50, learning_rate=0.01, select="last", validation=0.0)
    return Job(inputs, Annotations.from_matrix(matrix, classes=3), with_batch_norm, config, seed=0, folder=folder)


def noise_of(learned: Learned) -> DoctorHeads:
    assert isinstance(learned.learner, Classifier)
    assert isinstance(learned.learner.noise, DoctorHeads)
    return learned.learner.noise


def weights_after(folder: Path, stage: str) -> dict[str, Tensor]:
    return read_tensors(folder / stage / "last.safetensors")[0]


def test_good_annotators_are_listened_to() -> None:
    learned = learn(METHOD, a_job([0.95, 0.95, 0.35, 0.95]), CPU)
    weights = noise_of(learned).weight.detach().softmax(0)
    assert weights[2] < 0.05, "who guesses"
    assert weights[2] < weights[[0, 1, 3]].min() / 3
    assert weights.sum() == pytest.approx(1)


def test_the_second_stage_moves_the_weights_only(tmp_path: Path) -> None:
    job = a_job([0.9, 0.8, 0.5], tmp_path)
    learned = learn(METHOD, job, CPU)
    before = {name.removeprefix("peer.0."): value for name, value in weights_after(tmp_path, "1-heads").items()}
    after = learned.learner.state_dict()
    shared = [name for name in after if any(key.endswith(name) for key in before)]
    assert any("running_mean" in name for name in shared), "batch norm is part of it"
    moved = []
    for name in shared:
        (was,) = (value for key, value in before.items() if key.endswith(name) and value.shape == after[name].shape)
        if not torch.equal(was, after[name]):
            moved.append(name)
    assert moved == ["noise.weight"]
    assert {name for name, p in learned.learner.named_parameters() if p.requires_grad} == {"noise.weight"}


def test_the_second_stage_is_short(tmp_path: Path) -> None:
    job = a_job([0.9, 0.8, 0.5], tmp_path)
    learned = learn(METHOD.with_options(weight_epochs=2), job, CPU)
    assert len(learned.history.rows) == 2
    rows = (tmp_path / "1-heads" / "metrics.csv").read_text().splitlines()
    assert len(rows) - 1 == job.config.epochs
    whole = replace(job, folder=None, config=replace(job.config, epochs=1))
    assert len(learn(METHOD, whole, CPU).history.rows) == 1


@pytest.mark.parametrize("skills", [[0.9], [0.9, 0.4]])
def test_one_or_two_annotators_need_no_weights(skills: list[float], tmp_path: Path) -> None:
    learned = learn(METHOD, a_job(skills, tmp_path), CPU)
    assert noise_of(learned).weight.tolist() == [0.0] * len(skills)
    assert not (tmp_path / "2-weights").exists()
    rebuilt = METHOD.learner(Blueprint(with_batch_norm, (4,), classes=3, annotators=len(skills)))
    rebuilt.load_state_dict(learned.learner.state_dict())
    assert {name for name, _ in rebuilt.named_parameters()} == {name for name, _ in learned.learner.named_parameters()}


def test_the_option_checks_itself() -> None:
    assert METHOD.options() == {"weight_epochs": 20}
    with pytest.raises(ValueError, match="^weight_epochs must be a whole number of at least 1, got 0$"):
        METHOD.with_options(weight_epochs=0)
