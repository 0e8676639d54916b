from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from truelabel.annotations import Annotations
from truelabel.experiments.scene import Scene, some_of
from truelabel.experiments.setting import Setting
from truelabel.experiments.stand_ins import write_stand_in
from truelabel.training import TrainingConfig

CPU = torch.device("cpu")


def setting(**options: int) -> Setting:
    return Setting(data="lidc", method="staple", training=TrainingConfig(), noise_options=options, train=20, test=8)


def test_real_readers_are_drawn_and_counted(tmp_path: Path) -> None:
    write_stand_in("lidc", tmp_path)
    everybody = Scene.of(setting(), 0, tmp_path, CPU)
    one = Scene.of(setting(labels=1), 0, tmp_path, CPU)
    assert (everybody.said.counts == 4).all()
    assert (one.said.counts == 1).all()
    assert len(set(one.said.annotator.tolist())) > 1
    whole = everybody.said.matrix()
    for example, annotator, mask in zip(one.said.example, one.said.annotator, one.said.label, strict=True):
        np.testing.assert_array_equal(mask, whole[example, annotator])
    other = Scene.of(setting(labels=1), 1, tmp_path, CPU)
    assert (other.said.annotator != one.said.annotator).any()
    # What the oracle is told, reader by reader.
    told = everybody.resolved({"confusion": "truth"})["confusion"]
    for reader in range(4):
        drawn = whole[:, reader]
        for k in (0, 1):
            share = (drawn[everybody.train.labels == k] == 1).mean()
            assert told[reader, k, 1].item() == pytest.approx(share)
    assert everybody.said_of_test.matrix().shape == (8, 4, 48, 48)


def test_draws_among_annotators_are_even() -> None:
    said = Annotations.from_matrix(np.zeros((6000, 3), int))
    shares = np.bincount(some_of(said, torch.Generator().manual_seed(0), 2).annotator) / 12_000
    np.testing.assert_allclose(shares, 1 / 3, atol=0.01)
    assert some_of(said, torch.Generator()) is said
