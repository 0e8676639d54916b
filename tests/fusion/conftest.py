from __future__ import annotations

import csv
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel.annotations import Annotations

PEOPLE = {"rte": "truth.csv", "bluebird": "truth.csv", "sentiment": "train.csv", "labelme": "gold_train.csv"}


Crowd = tuple[Annotations, NDArray[np.int64]]
Mask = NDArray[np.uint8]


def _simulate(n: int, skills: Sequence[float], classes: int) -> Crowd:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, classes, n)
    wrong = (truth[:, None] + rng.integers(1, classes, (n, len(skills)))) % classes
    matrix = np.where(rng.random((n, len(skills))) < np.array(skills), truth[:, None], wrong)
    return Annotations.from_matrix(matrix, classes=classes), truth


@pytest.fixture
def simulate() -> Callable[[int, Sequence[float], int], Crowd]:
    """Of n, skills, K: everybody labels everything, right with their skill, else any other class; and the truth."""
    return _simulate


def _read_by(truth: Mask, errors: Sequence[float], seed: int = 0) -> Mask:
    rng, classes = np.random.default_rng(seed), int(truth.max()) + 1
    masks = np.stack([truth] * len(errors))
    for mask, error in zip(masks, errors, strict=True):
        wrong = rng.random(truth.shape) < error
        mask[wrong] = (mask[wrong] + rng.integers(1, classes, int(wrong.sum()))) % classes
    return masks


def _blobs(space: Sequence[int], classes: int = 2, seed: int = 0) -> Mask:
    from scipy.ndimage import gaussian_filter

    field = gaussian_filter(np.random.default_rng(seed).standard_normal(space), 5)
    mask: Mask = np.searchsorted(np.quantile(field, np.linspace(0.6, 1, classes)[:-1]), field).astype(np.uint8)
    return mask


@pytest.fixture
def blobs() -> Callable[..., Mask]:
    """Of a shape, classes and a seed: a mask of smooth regions, 60% background."""
    return _blobs


@pytest.fixture
def read_by() -> Callable[..., Mask]:
    """Of a mask ``(*space)``, errors (R,) and a seed: masks ``(R, *space)`` wrong at random voxels, that often."""
    return _read_by


@pytest.fixture(params=PEOPLE)
def people(request: pytest.FixtureRequest) -> tuple[str, Annotations, NDArray[np.int64]]:
    """Labels of real people and the truth, where ``TRUELABEL_DATA`` has them."""
    name: str = request.param
    folder = Path(os.environ.get("TRUELABEL_DATA", "nowhere"), name)
    if not (folder / "answers.csv").exists():
        pytest.skip(f"{name} is not in TRUELABEL_DATA")
    with (folder / PEOPLE[name]).open(encoding="utf-8") as lines:
        truth = np.array([int(line["label"]) for line in csv.DictReader(lines)])
    return name, Annotations.from_table(folder / "answers.csv"), truth
