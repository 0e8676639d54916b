from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel import Annotations
from truelabel.data import Dataset, two_moons
from truelabel.methods import Method, learn
from truelabel.training import Engine, Job, TrainingConfig, clean_probs


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


@pytest.fixture(scope="session")
def accuracy() -> Callable[[Method, int], float]:
    """How well a method does on 1,000 points of four blobs, by seed; each is trained once.

    It learns by heart 300 points of which 45 % have a wrong label of any class.
    """

    @cache
    def measure(method: Method, seed: int) -> float:
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 4, 1300)
        inputs = (3 * np.eye(4, 5)[truth] + rng.normal(size=(1300, 5))).astype(np.float32)
        wrong = (truth + rng.integers(1, 4, 1300)) % 4
        said = np.where(rng.random(1300) < 0.45, wrong, truth)[:300]
        config = TrainingConfig(epochs=100, batch_size=100, learning_rate=0.005, validation=0.0)
        job = Job(inputs[:300], Annotations.from_labels(said), "mlp:64", config, seed)
        learned = learn(method, job, Engine(device="cpu"))
        answer = clean_probs(learned.learner, torch.from_numpy(inputs[300:])).argmax(-1).numpy()
        return float((answer == truth[300:]).mean())

    return measure
