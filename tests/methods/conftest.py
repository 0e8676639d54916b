from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel import Annotations
from truelabel.data import Dataset, two_moons
from truelabel.training import Job, TrainingConfig


@pytest.fixture(scope="session")
def moons() -> tuple[Dataset, Dataset]:
    """400 points to learn from and 1,000 to score on."""
    generator = torch.Generator().manual_seed(0)
    return two_moons(400, 0.15, generator), two_moons(1000, 0.15, generator)


@pytest.fixture(scope="session")
def said(moons: tuple[Dataset, Dataset]) -> NDArray[np.int64]:
    """Five annotators who are right with probability 0.7 each: (400, 5)."""
    truth = moons[0].labels[:, None]
    wrong = np.random.default_rng(0).random((400, 5)) > 0.7
    return np.where(wrong, 1 - truth, truth)


@pytest.fixture
def job(moons: tuple[Dataset, Dataset], said: NDArray[np.int64]) -> Job:
    config = TrainingConfig(epochs=30, batch_size=64, learning_rate=0.01)
    return Job(moons[0].inputs, Annotations.from_matrix(said), "mlp:32", config, seed=0)


@pytest.fixture
def short(job: Job) -> Job:
    """A job whose result does not matter."""
    return Job(job.inputs, job.annotations, "mlp:8", TrainingConfig(epochs=1, batch_size=64), seed=0)
