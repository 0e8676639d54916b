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


@pytest.fixture(scope="session")
def confusions() -> NDArray[np.float64]:
    """Five annotators of four classes, the last an adversary; the diagonal dominates their mean: (5, 4, 4)."""
    eye = np.eye(4)
    shares = ((0.9, 2), (0.5, 1), (0.5, 1), (0.5, 1), (0.0, 3))
    return np.stack([right * eye + (1 - right) * np.roll(eye, shift, 1) for right, shift in shares])


@pytest.fixture(scope="session")
def crowded(confusions: NDArray[np.float64]) -> Callable[[Method, int], tuple[float, NDArray[np.float64] | None]]:
    """Accuracy on 1,000 points of four blobs, and the confusion found, by labels an example; each is trained once.

    It learns from 1,200 labels of five annotators, one to five an example.
    """

    @cache
    def measure(method: Method, each: int) -> tuple[float, NDArray[np.float64] | None]:
        rng = np.random.default_rng(0)
        n = 1200 // each
        truth = rng.integers(0, 4, n + 1000)
        inputs = (4 * np.eye(4, 5)[truth] + rng.normal(size=(n + 1000, 5))).astype(np.float32)
        draw = rng.random((n, 5, 1))
        said = (confusions.cumsum(-1).swapaxes(0, 1)[truth[:n]] < draw).sum(-1)
        absent = rng.permuted(np.tile(np.arange(5), (n, 1)), axis=1) >= each
        annotations = Annotations.from_matrix(np.where(absent, -1, said), classes=4)
        config = TrainingConfig(epochs=20 * each, batch_size=100, learning_rate=0.005, select="last", validation=0.0)
        learned = learn(method, Job(inputs[:n], annotations, "mlp:32", config, seed=0), Engine(device="cpu"))
        answer = clean_probs(learned.learner, torch.from_numpy(inputs[n:])).argmax(-1).numpy()
        found = learned.learner.annotator_confusion() if learned.confusion is None else learned.confusion
        confusion = None if found is None else found.detach().double().numpy()
        return float((answer == truth[n:]).mean()), confusion

    return measure
