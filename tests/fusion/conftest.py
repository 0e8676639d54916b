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
