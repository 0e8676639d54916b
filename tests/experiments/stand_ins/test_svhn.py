from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.io import loadmat

from truelabel.data import svhn
from truelabel.experiments.stand_ins.svhn import write_svhn


def test_the_reader_reads_it(tmp_path: Path) -> None:
    write_svhn(tmp_path, 96, np.random.default_rng(0))
    train, test = svhn("train", tmp_path), svhn("test", tmp_path)
    assert train.inputs.shape == (96, 3, 32, 32)
    assert len(test) == 48
    assert set(train.labels.tolist()) == set(range(10))
    stored = loadmat(tmp_path / "svhn" / "train_32x32.mat")["y"]
    assert set(stored.ravel().tolist()) == set(range(1, 11))


def test_the_digit_is_lighter_than_its_wall(tmp_path: Path) -> None:
    write_svhn(tmp_path, 96, np.random.default_rng(0))
    data = svhn("train", tmp_path)
    eights = data.inputs[data.labels == 8].astype(float).mean((0, 1))
    assert eights[14:18, 10:22].mean() > eights[:3].mean() + 40
