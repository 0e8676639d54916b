from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import truelabel
from truelabel import Annotations, fusion

pytestmark = pytest.mark.long

SCRIPT = Path(__file__).parent / "scripts" / "fuse_share.py"
FUSIONS = ("majority_vote", "dawid_skene", "one_coin", "glad", "mace")
WORLD = 2
Found = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]


def labels() -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """200 examples, six annotators of unequal skill; ties, gaps, and two examples that nobody labelled."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, (200, 1))
    skills = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.3])
    matrix = np.where(rng.random((200, 6)) < skills, truth, rng.integers(0, 3, (200, 6)))
    matrix[rng.random((200, 6)) < 0.4] = -1
    matrix[[0, 150]] = -1
    return matrix


@pytest.fixture(scope="module")
def shares(tmp_path_factory: pytest.TempPathFactory) -> list[Found]:
    """What each of two processes finds."""
    folder = tmp_path_factory.mktemp("shares")
    np.save(folder / "labels.npy", labels())
    source = str(Path(truelabel.__file__).parents[1])
    running = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), str(folder), str(rank), str(WORLD)],
            env={**os.environ, "PYTHONPATH": source},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(WORLD)
    ]
    try:
        for process in running:
            printed, _ = process.communicate(timeout=120)
            assert process.returncode == 0, printed
    finally:
        for process in running:
            process.kill()
            process.wait()
    found = []
    for rank in range(WORLD):
        with np.load(folder / f"{rank}.npz") as stored:
            found.append(dict(stored))
    return found


@pytest.mark.parametrize("name", FUSIONS)
def test_two_processes_find_what_one_does(name: str, shares: list[Found]) -> None:
    alone = getattr(fusion, name)(Annotations.from_matrix(labels(), classes=3))
    for field in ("posterior", "labels"):
        joined = np.concatenate([share[f"{name} {field}"] for share in shares])
        np.testing.assert_allclose(joined, getattr(alone, field), atol=1e-9)
    for share in shares:
        assert len(share[f"{name} posterior"]) < 200
        for field in ("confusion", "prior", "history"):
            np.testing.assert_allclose(share[f"{name} {field}"], getattr(alone, field), atol=1e-9)


def test_processes_with_other_annotators_are_refused(shares: list[Found]) -> None:
    for share in shares:
        assert "annotations of the processes differ in annotators or classes" in str(share["refused"])
