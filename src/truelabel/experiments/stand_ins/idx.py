"""Made-up MNIST and Fashion-MNIST, as IDX files."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from truelabel.experiments.stand_ins.patterns import Bytes, Labels, balanced, digits, noisy, prototypes

_PARTS = {"train": 1, "t10k": 2}
"""The two parts, and by how much the second is smaller."""


def write_mnist(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Digits of seven segments in ``MNIST/raw/``."""
    for part, share in _PARTS.items():
        labels = balanced(rng, examples // share, 10)
        _write_pair(root / "MNIST", part, noisy(rng, digits(rng, labels, 28) * 230, spread=8), labels)


def write_fashion_mnist(root: Path, examples: int, rng: np.random.Generator) -> None:
    """A pattern for each kind of clothing in ``FashionMNIST/raw/``."""
    patterns = prototypes(rng, 10, 1, 28)[:, 0]
    for part, share in _PARTS.items():
        labels = balanced(rng, examples // share, 10)
        _write_pair(root / "FashionMNIST", part, noisy(rng, patterns[labels]), labels)


def _write_pair(folder: Path, part: str, images: Bytes, labels: Labels) -> None:
    (folder / "raw").mkdir(parents=True, exist_ok=True)
    for name, content in (("images-idx3-ubyte", images), ("labels-idx1-ubyte", labels.astype(np.uint8))):
        header = struct.pack(f">BBBB{content.ndim}I", 0, 0, 8, content.ndim, *content.shape)
        (folder / "raw" / f"{part}-{name}").write_bytes(header + content.tobytes())
