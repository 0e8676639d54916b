from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.data import cifar10n, cifar100n, clothing1m
from truelabel.experiments.material import load_material
from truelabel.experiments.stand_ins import write_stand_in


@pytest.mark.parametrize("name", ["moons", "circles"])
def test_toys(name: str) -> None:
    material = load_material(name)
    assert material.train.inputs.shape == material.test.inputs.shape == (1000, 2)
    assert not np.array_equal(material.train.inputs, material.test.inputs)
    other = load_material(name, seed=1, noise=0.0)
    assert not np.array_equal(material.train.inputs, other.train.inputs)
    assert load_material(name, train=7, test=9).train.inputs.shape == (7, 2)


def test_the_inner_circle_has_its_radius() -> None:
    data = load_material("circles", noise=0.0, factor=0.25).test
    np.testing.assert_allclose(np.linalg.norm(data.inputs[data.labels == 1], axis=1), 0.25, rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("mnist", (1, 28, 28), 10),
        ("fashion-mnist", (1, 28, 28), 10),
        ("cifar10", (3, 32, 32), 10),
        ("cifar100", (3, 32, 32), 100),
        ("svhn", (3, 32, 32), 10),
    ],
)
def test_pictures(tmp_path: Path, name: str, shape: tuple[int, ...], classes: int) -> None:
    write_stand_in(name, tmp_path)
    material = load_material(name, root=tmp_path)
    for data in (material.train, material.test):
        assert data.inputs.shape[1:] == shape
        assert data.inputs.dtype == np.uint8
        assert len(data.classes) == classes
    assert material.given is None


@pytest.mark.parametrize("which", ["aggregate", "random1", "random2", "random3", "worst"])
def test_what_people_said_of_ten_classes(tmp_path: Path, which: str) -> None:
    write_stand_in("cifar10n", tmp_path, examples=400)
    material = load_material("cifar10n", root=tmp_path, train=300, which=which)
    assert material.given is not None
    assert material.given.classes == material.train.classes
    whole = load_material("cifar10n", root=tmp_path).train
    expected = cifar10n(which, tmp_path, images=whole)  # type: ignore[arg-type]
    np.testing.assert_array_equal(material.given.matrix()[:, 0], expected[:300])


def test_the_worst_labels_are_the_default(tmp_path: Path) -> None:
    write_stand_in("cifar10n", tmp_path, examples=2000)
    material = load_material("cifar10n", root=tmp_path)
    assert material.given is not None
    assert (material.given.label != material.train.labels).mean() == pytest.approx(0.4, abs=0.03)


def test_what_people_said_of_a_hundred_classes(tmp_path: Path) -> None:
    write_stand_in("cifar100n", tmp_path)
    material = load_material("cifar100n", root=tmp_path)
    assert material.given is not None
    expected = cifar100n("noisy", tmp_path, images=material.train)
    np.testing.assert_array_equal(material.given.matrix()[:, 0], expected)
    assert material.given.classes == material.train.classes


def test_clothing_is_judged_by_clean_labels(tmp_path: Path) -> None:
    write_stand_in("clothing1m", tmp_path)
    material = load_material("clothing1m", root=tmp_path, train=20, size=28)
    assert material.train.inputs.shape == (20, 3, 28, 28)
    assert material.test.inputs.shape == (48, 3, 28, 28)
    assert material.given is not None
    np.testing.assert_array_equal(material.given.label, material.train.labels)
    assert load_material("clothing1m", root=tmp_path, train=1, test=1).train.inputs.shape == (1, 3, 224, 224)


def test_clothing_may_end_with_clean_photographs(tmp_path: Path) -> None:
    write_stand_in("clothing1m", tmp_path)
    material = load_material("clothing1m", root=tmp_path, train=40, size=28, balanced=True, validated=0.25)
    noisy, clean = (clothing1m(part, tmp_path, size=28) for part in ("noisy_train", "clean_val"))
    counts = np.bincount(material.train.labels[:-10], minlength=14)
    assert set(counts.tolist()) == {min(30 // 14, np.bincount(noisy.labels, minlength=14).min())}
    np.testing.assert_array_equal(material.train.labels[-10:], clean.labels[:10])
    np.testing.assert_array_equal(material.train.inputs[-10:], clean.inputs[:10])
    assert material.given is not None
    np.testing.assert_array_equal(material.given.label, material.train.labels)


def test_views_of_the_heart(tmp_path: Path) -> None:
    write_stand_in("cardiac-views", tmp_path)
    material = load_material("cardiac-views", root=tmp_path, train=30)
    assert material.train.inputs.shape == (30, 1, 96, 96)
    assert material.test.inputs.shape == (48, 1, 96, 96)
    assert material.given is not None
    assert len(material.given.annotators) == 8
    assert (material.given.label == material.train.labels[material.given.example]).mean() > 0.6
