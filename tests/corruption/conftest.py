"""Masks that readers are tried on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import zoom
from sklearn.datasets import load_digits


@pytest.fixture(scope="session")
def digits() -> NDArray[Any]:
    """Thirty small digits ``(30, 24, 24)`` of zeros and ones, with strokes of two to four pixels."""
    images = load_digits().images[:30] / 16
    return np.stack([zoom(image, 3, order=1) > 0.5 for image in images]).astype(np.int16)
