from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from sklearn.datasets import make_blobs

Blobs = tuple[NDArray[np.float64], NDArray[np.int64]]
Scans = tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]


@pytest.fixture(scope="session")
def blobs() -> Blobs:
    """Three clouds of points that hardly touch, and which cloud each point is of."""
    points, truth = make_blobs(300, centers=3, cluster_std=0.7, random_state=0)
    return points, truth.astype(np.int64)


@pytest.fixture(scope="session")
def crowd(blobs: Blobs) -> NDArray[np.int64]:
    """What a good, a mediocre and a bad annotator said of the blobs, right 95%, 70% and 30% of the time."""
    rng = np.random.default_rng(1)
    truth = blobs[1][:, None]
    wrong = (truth + rng.integers(1, 3, (len(truth), 3))) % 3
    said = np.where(rng.random((len(truth), 3)) < [0.95, 0.7, 0.3], truth, wrong)
    said[rng.random(said.shape) < 0.2] = -1
    said[(said < 0).all(1), 0] = 0
    return np.asarray(said)


@pytest.fixture(scope="session")
def pictures() -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Dark and bright pictures (40, 1, 8, 8), and which are bright."""
    rng = np.random.default_rng(0)
    bright = np.arange(40) % 2
    images = rng.integers(0, 100, (40, 1, 8, 8)) + 140 * bright[:, None, None, None]
    return images.astype(np.uint8), bright


@pytest.fixture(scope="session")
def quick() -> dict[str, Any]:
    """Settings for a fit whose result does not matter."""
    return {"network": "mlp:8", "epochs": 2, "batch_size": 32, "device": "cpu", "random_state": 0}


@pytest.fixture(scope="session")
def thorough() -> dict[str, Any]:
    """Settings that learn the blobs in a third of a second."""
    return {
        "network": "mlp:32",
        "epochs": 20,
        "batch_size": 32,
        "learning_rate": 0.01,
        "device": "cpu",
        "random_state": 0,
    }


@pytest.fixture(scope="session")
def scans() -> Scans:
    """Images (16, 1, 7, 8) whose brightness tells the class, the truth (16, 7, 8), and masks of three readers.

    The second takes 2 for 1. The third takes 2 for background, and left out every third image; the first left out rows.
    """
    rng = np.random.default_rng(0)
    truth = np.digitize(gaussian_filter(rng.normal(size=(16, 7, 8)), (0, 1, 1)), [0.0, 0.2])
    images = truth[:, None] + 0.2 * rng.normal(size=(16, 1, 7, 8))
    masks = np.stack([truth, np.minimum(truth, 1), np.where(truth == 2, 0, truth)], 1)
    masks[::3, 2], masks[1::4, 0, :2] = -1, -1
    return images.astype(np.float32), truth, masks


@pytest.fixture(scope="session")
def drawing() -> dict[str, Any]:
    """Settings for a fit to scans whose result does not matter."""
    return {"network": "unet:4", "epochs": 2, "batch_size": 8, "device": "cpu", "random_state": 0}
