from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.neighbors import NearestCentroid

from truelabel.data import cifar10, cifar10n, cifar100, cifar100n
from truelabel.experiments.stand_ins.cifar import write_cifar10, write_cifar10n, write_cifar100, write_cifar100n


def test_ten_classes(tmp_path: Path) -> None:
    write_cifar10(tmp_path, 96, np.random.default_rng(0))
    train, test = cifar10("train", tmp_path), cifar10("test", tmp_path)
    assert (len(train), len(test)) == (96, 48)
    assert train.classes[0] == "airplane"
    nearest = NearestCentroid().fit(train.inputs.reshape(96, -1), train.labels)
    assert nearest.score(test.inputs.reshape(48, -1), test.labels) == 1


def test_a_hundred_classes(tmp_path: Path) -> None:
    write_cifar100(tmp_path, 200, np.random.default_rng(0))
    train, groups = cifar100("train", tmp_path), cifar100("train", tmp_path, labels="coarse")
    assert np.bincount(train.labels).tolist() == [2] * 100
    np.testing.assert_array_equal(groups.labels, train.labels // 5)
    assert (len(train.classes), len(groups.classes)) == (100, 20)


def test_what_people_said(tmp_path: Path) -> None:
    write_cifar10n(tmp_path, 3000, np.random.default_rng(0))
    train = cifar10("train", tmp_path)
    rates = [(cifar10n(which, tmp_path, images=train) != train.labels).mean() for which in ("aggregate", "worst")]
    assert rates == pytest.approx([0.09, 0.40], abs=0.03)
    write_cifar100n(tmp_path, 3000, np.random.default_rng(0))
    fine = cifar100("train", tmp_path)
    assert (cifar100n("noisy", tmp_path, images=fine) != fine.labels).mean() == pytest.approx(0.4, abs=0.03)


def test_images_are_the_same_with_and_without_what_people_said(tmp_path: Path) -> None:
    write_cifar10(tmp_path / "a", 50, np.random.default_rng(3))
    write_cifar10n(tmp_path / "b", 50, np.random.default_rng(3))
    np.testing.assert_array_equal(cifar10("test", tmp_path / "a").inputs, cifar10("test", tmp_path / "b").inputs)
