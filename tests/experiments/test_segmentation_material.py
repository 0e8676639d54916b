from __future__ import annotations

from pathlib import Path

import numpy as np

from truelabel.experiments.material import load_material
from truelabel.experiments.stand_ins import write_stand_in


def test_digits_with_and_without_noise(tmp_path: Path) -> None:
    write_stand_in("mnist-segmentation", tmp_path)
    clean = load_material("mnist-segmentation", root=tmp_path)
    noisy = load_material("mnist-segmentation", root=tmp_path, noise=0.3)
    assert clean.train.labels.shape == (96, 28, 28)
    np.testing.assert_array_equal(clean.train.labels, clean.train.inputs[:, 0] > 127)
    np.testing.assert_array_equal(clean.train.labels, noisy.train.labels)
    assert noisy.train.inputs.dtype == np.float32
    drawn = [part.inputs[0] - whole.scaled()[0] for part, whole in zip(
        (noisy.train, noisy.test), (clean.train, clean.test), strict=True)]  # fmt: skip
    inside = (noisy.train.inputs[0] % 1 > 0) & (noisy.test.inputs[0] % 1 > 0)
    assert np.abs(drawn[0] - drawn[1])[inside].min() > 0
