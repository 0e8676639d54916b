from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from truelabel.data import Dataset, MissingDataError, cifar10, cifar10n, cifar100n

COLUMNS = {
    "clean": "clean_label",
    "aggregate": "aggre_label",
    "random1": "random_label1",
    "random2": "random_label2",
    "random3": "random_label3",
    "worst": "worse_label",
}
LABELS = dict(zip(COLUMNS, np.random.default_rng(0).integers(0, 10, (6, 50_000)), strict=True))


def write_arrays(root: Path, **changes: npt.NDArray[Any]) -> None:
    np.savez(root / "cifar-10n.npz", **{name: x.astype(np.uint8) for name, x in LABELS.items()} | changes)


def write_published(root: Path, *, numpy: int = 2, **extra: Any) -> None:
    content = io.BytesIO()
    torch.save({COLUMNS[name]: x for name, x in LABELS.items()} | extra, content)
    with zipfile.ZipFile(content) as new, zipfile.ZipFile(root / "CIFAR-10_human.pt", "w") as old:
        for name in new.namelist():
            part = new.read(name)
            if numpy == 1:  # the published file is older than numpy 2, which renamed this module
                part = part.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
            old.writestr(name, part)


def images(labels: npt.NDArray[np.int64]) -> Dataset:
    return Dataset(np.zeros((len(labels), 1), np.float32), labels, tuple(range(10)), "cifar10")


@pytest.mark.parametrize("which", COLUMNS)
def test_every_column(tmp_path: Path, which: Any) -> None:
    write_arrays(tmp_path)
    labels = cifar10n(which, tmp_path)
    assert labels.dtype == np.int64
    np.testing.assert_array_equal(labels, LABELS[which])


@pytest.mark.parametrize("numpy", [1, 2])
def test_published_file(tmp_path: Path, numpy: int) -> None:
    write_published(tmp_path, numpy=numpy)
    np.testing.assert_array_equal(cifar10n("worst", tmp_path), LABELS["worst"])
    np.testing.assert_array_equal(cifar10n("random2", tmp_path), LABELS["random2"])


def test_code_in_the_published_file_does_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"

    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(trap),)

    write_published(tmp_path, extra=Trap())
    with pytest.raises(ValueError, match="cannot be read as plain arrays") as caught:
        cifar10n("clean", tmp_path)
    assert "\n" not in str(caught.value)
    assert not trap.exists()


def test_order_is_checked_against_the_images(tmp_path: Path) -> None:
    write_arrays(tmp_path)
    clean = LABELS["clean"]
    np.testing.assert_array_equal(cifar10n("worst", tmp_path, images=images(clean)), LABELS["worst"])
    with pytest.raises(ValueError, match=r"torchvision, TensorFlow Datasets has an order of its own"):
        cifar10n("worst", tmp_path, images=images(clean[::-1].copy()))
    with pytest.raises(ValueError, match="has 7 examples"):
        cifar10n("worst", tmp_path, images=images(clean[:7]))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (np.zeros(10, np.uint8), r"uint8 of shape \(10,\)"),
        (np.zeros(50_000), r"float64 of shape \(50000,\)"),
        (np.full(50_000, 10), "outside 0..9"),
    ],
)
def test_a_wrong_column_is_refused(tmp_path: Path, wrong: npt.NDArray[Any], message: str) -> None:
    write_arrays(tmp_path, worst=wrong)
    with pytest.raises(ValueError, match=message):
        cifar10n("worst", tmp_path)


def test_unknown_column_and_missing_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="which 'best' is unknown: pass one of clean"):
        cifar10n("best", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(MissingDataError, match=r"cifar-10n.npz or CIFAR-10_human.pt; download .*UCSC-REAL"):
        cifar10n("clean", tmp_path)
    (tmp_path / "CIFAR-10_human.pt").write_bytes(b"no")
    with pytest.raises(ValueError, match="cannot be read as plain arrays"):
        cifar10n("clean", tmp_path)


def test_fewer_images_have_fewer_labels(tmp_path: Path) -> None:
    few = {name: column[:20].astype(np.uint8) for name, column in LABELS.items()}
    write_arrays(tmp_path, **few)
    np.testing.assert_array_equal(cifar10n("worst", tmp_path, images=images(LABELS["clean"][:20])), few["worst"])
    with pytest.raises(ValueError, match=r"uint8 of shape \(20,\), not \(50000,\) integers"):
        cifar10n("worst", tmp_path)
    write_arrays(tmp_path, **few | {"worst": few["worst"][:19]})
    with pytest.raises(ValueError, match=r"shape \(19,\), not \(20,\) integers"):
        cifar10n("worst", tmp_path, images=images(LABELS["clean"][:20]))
    write_arrays(tmp_path, clean=np.zeros(0, np.uint8))
    with pytest.raises(ValueError, match=r"shape \(0,\), not"):
        cifar10n("worst", tmp_path, images=images(LABELS["clean"][:0]))


def test_a_hundred_classes(tmp_path: Path) -> None:
    clean, noisy = np.random.default_rng(1).integers(0, 100, (2, 50_000))
    fine = Dataset(np.zeros((50_000, 1), np.float32), clean, tuple(range(100)), "cifar100")
    np.savez(tmp_path / "cifar-100n.npz", clean=clean, noisy=noisy)
    np.testing.assert_array_equal(cifar100n("noisy", tmp_path, images=fine), noisy)
    (tmp_path / "cifar-100n.npz").unlink()
    torch.save({"clean_label": clean, "noisy_label": noisy}, tmp_path / "CIFAR-100_human.pt")
    np.testing.assert_array_equal(cifar100n("noisy", tmp_path), noisy)
    np.testing.assert_array_equal(cifar100n("clean", tmp_path), clean)
    with pytest.raises(ValueError, match=r"another label .*; pass cifar100\('train'\)"):
        cifar100n("noisy", tmp_path, images=fine.take(np.arange(50_000)[::-1]))
    torch.save({"clean_label": clean, "noisy_label": noisy + 1}, tmp_path / "CIFAR-100_human.pt")
    with pytest.raises(ValueError, match="outside 0..99"):
        cifar100n("noisy", tmp_path)


def test_a_hundred_classes_that_are_missing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="which 'worst' is unknown: pass one of clean, noisy"):
        cifar100n("worst", tmp_path)  # type: ignore[arg-type]
    with pytest.raises(MissingDataError, match=r"expected cifar-100n.npz or CIFAR-100_human.pt; download"):
        cifar100n("noisy", tmp_path)


def test_real_noise_rates(real_data: Path) -> None:
    clean = cifar10n("clean", real_data)
    rates = {name: 100 * float((cifar10n(name, real_data) != clean).mean()) for name in COLUMNS}  # type: ignore[arg-type]
    published = {
        "clean": 0, "aggregate": 9.01, "random1": 17.23, "random2": 18.12, "random3": 17.64, "worst": 40.21,
    }  # fmt: skip
    assert rates == pytest.approx(published, abs=0.006)


def test_real_cifar10_is_in_the_order_of_its_human_labels(real_data: Path, real_cifar10: Path) -> None:
    train = cifar10("train", real_cifar10)
    cifar10n("aggregate", real_data, images=train)
    assert train.classes[train.labels[0]] == "frog"
    assert np.bincount(train.labels).tolist() == [5000] * 10
    means = train.inputs.mean((0, 2, 3)) / 255
    np.testing.assert_allclose(means, [0.4914, 0.4822, 0.4465], atol=5e-5)
