"""Made-up SVHN: digits of seven segments in two colours, as MATLAB files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from truelabel.experiments.stand_ins.patterns import balanced, digits, noisy

_HEADER = b"MATLAB 5.0 MAT-file, made up".ljust(116)
"""Instead of scipy's own, which tells the time of writing: equal seeds are to write equal bytes."""


def write_svhn(root: Path, examples: int, rng: np.random.Generator) -> None:
    """Light digits on a darker wall, in ``svhn/``; the digit 0 is class 10, as in the real files."""
    from scipy.io import savemat

    (root / "svhn").mkdir(parents=True, exist_ok=True)
    for part, share in (("train", 1), ("test", 2)):
        labels = balanced(rng, examples // share, 10)
        wall = rng.uniform(20, 100, (len(labels), 3, 1, 1))
        paint = rng.uniform(80, 140, (len(labels), 3, 1, 1))
        pictures = noisy(rng, wall + paint * digits(rng, labels, 32)[:, None])
        stored = np.where(labels == 0, 10, labels).astype(np.uint8)
        stream = io.BytesIO()
        savemat(stream, {"X": pictures.transpose(2, 3, 1, 0), "y": stored[:, None]}, do_compression=True)
        content = _HEADER + stream.getvalue()[len(_HEADER) :]
        (root / "svhn" / f"{part}_32x32.mat").write_bytes(content)
