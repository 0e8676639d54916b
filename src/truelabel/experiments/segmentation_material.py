"""Examples with a class for every pixel: digits, scans and scenes."""

from __future__ import annotations

from pathlib import Path

from truelabel import data
from truelabel.experiments.material_parts import Material, first


def mnist_segmentation(
    root: Path | None, train: int | None, test: int | None, *, noise: float = 0.0, seed: int = 0
) -> Material:
    """Digits and their pixels, clean or with noise of standard deviation ``noise``, which test images draw anew."""
    return Material(
        first(data.mnist_segmentation("train", root, noise=noise, seed=seed), train),
        first(data.mnist_segmentation("test", root, noise=noise, seed=seed + 1), test),
    )
