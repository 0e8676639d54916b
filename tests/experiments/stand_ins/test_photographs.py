from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from truelabel.data import cardiac_views, clothing1m
from truelabel.experiments.stand_ins.photographs import write_cardiac_views, write_clothing1m


def test_clothing(tmp_path: Path) -> None:
    write_clothing1m(tmp_path, 96, np.random.default_rng(0))
    parts = {
        "noisy_train": clothing1m("noisy_train", tmp_path, size=28),
        "clean_train": clothing1m("clean_train", tmp_path, size=28),
        "clean_val": clothing1m("clean_val", tmp_path, size=28),
        "clean_test": clothing1m("clean_test", tmp_path, size=28),
    }
    assert [len(part) for part in parts.values()] == [96, 14, 14, 48]
    assert set(parts["clean_test"].labels.tolist()) == set(range(14))
    flat = {name: part.scaled().reshape(len(part), -1) for name, part in parts.items()}
    clean = NearestCentroid().fit(flat["clean_test"], parts["clean_test"].labels)
    assert clean.score(flat["clean_val"], parts["clean_val"].labels) == 1
    right = (clean.predict(flat["noisy_train"]) == parts["noisy_train"].labels).mean()
    assert right == pytest.approx(0.62, abs=0.12)


def test_views(tmp_path: Path) -> None:
    write_cardiac_views(tmp_path, 96, np.random.default_rng(0))
    train, said = cardiac_views("train", tmp_path)
    test, _ = cardiac_views("test", tmp_path)
    assert (train.inputs.shape, len(test)) == ((96, 1, 96, 96), 48)
    assert len(train.classes) == 6
    assert said is not None
    said.check_trainable()
    assert len(said.annotators) == 8
    assert 1.5 < said.counts.mean() < 4
    right = said.label == train.labels[said.example]
    skill = np.bincount(said.annotator, right) / said.workload
    assert skill[0] > skill[-1] + 0.15
