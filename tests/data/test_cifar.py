from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from truelabel.data import Dataset, MissingDataError, cifar10, cifar100

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (12, 3072), np.uint8)  # two a batch, five batches and the test
LABELS = RNG.integers(0, 10, 12).tolist()
NAMES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
BATCHES = [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]
COARSE, FINE = [1, 0, 1, 1], [99, 2, 3, 99]
COARSE_NAMES, FINE_NAMES = [f"group{i}" for i in range(20)], [f"thing{i}" for i in range(100)]


def dump(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(content, protocol=2))


def binary10(root: Path) -> Path:
    folder = root / "cifar-10-batches-bin"
    folder.mkdir(parents=True)
    for i, name in enumerate(BATCHES):
        records = b"".join(bytes([LABELS[j]]) + PIXELS[j].tobytes() for j in (2 * i, 2 * i + 1))
        (folder / f"{name}.bin").write_bytes(records)
    (folder / "batches.meta.txt").write_text("\n".join(NAMES) + "\n\n")
    return folder


def python10(root: Path) -> Path:
    folder = root / "cifar-10-batches-py"
    for i, name in enumerate(BATCHES):
        rows = slice(2 * i, 2 * i + 2)
        dump(folder / name, {"batch_label": name, "data": PIXELS[rows], "labels": LABELS[rows]})
    dump(folder / "batches.meta", {"num_vis": 3072, "label_names": NAMES})
    return folder


def binary100(root: Path) -> Path:
    folder = root / "cifar-100-binary"
    folder.mkdir(parents=True)
    for name, rows in (("train", range(3)), ("test", range(3, 4))):
        records = b"".join(bytes([COARSE[j], FINE[j]]) + PIXELS[j].tobytes() for j in rows)
        (folder / f"{name}.bin").write_bytes(records)
    (folder / "fine_label_names.txt").write_text("\n".join(FINE_NAMES))
    (folder / "coarse_label_names.txt").write_text("\n".join(COARSE_NAMES))
    return folder


def python100(root: Path) -> Path:
    folder = root / "cifar-100-python"
    for name, rows in (("train", slice(0, 3)), ("test", slice(3, 4))):
        content = {"data": PIXELS[rows], "fine_labels": FINE[rows], "coarse_labels": COARSE[rows]}
        dump(folder / name, content)
    dump(folder / "meta", {"fine_label_names": FINE_NAMES, "coarse_label_names": COARSE_NAMES})
    return folder


def same_pixels(data: Dataset, pixels: npt.NDArray[np.uint8]) -> bool:
    """Pixel (channel, y, x) is byte ``1024 channel + 32 y + x``, as the format's page has it."""
    places = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (2, 31, 31), (1, 7, 20)]
    return all(
        data.inputs[i, c, y, x] == pixels[i, 1024 * c + 32 * y + x] for i in range(len(pixels)) for c, y, x in places
    )


@pytest.mark.parametrize("make", [binary10, python10])
def test_cifar10(tmp_path: Path, make: Any) -> None:
    make(tmp_path)
    train, test = cifar10("train", tmp_path), cifar10("test", tmp_path)
    assert train.inputs.shape == (10, 3, 32, 32)
    assert train.inputs.dtype == np.uint8
    assert same_pixels(train, PIXELS[:10])
    assert same_pixels(test, PIXELS[10:])
    assert train.labels.tolist() + test.labels.tolist() == LABELS
    assert train.classes == tuple(NAMES)


@pytest.mark.parametrize("make", [binary100, python100])
def test_cifar100(tmp_path: Path, make: Any) -> None:
    make(tmp_path)
    fine, coarse = cifar100("train", tmp_path), cifar100("train", tmp_path, labels="coarse")
    assert same_pixels(fine, PIXELS[:3])
    assert fine.labels.tolist() == FINE[:3]
    assert fine.classes == tuple(FINE_NAMES)
    assert coarse.labels.tolist() == COARSE[:3]
    assert coarse.classes == tuple(COARSE_NAMES)
    assert cifar100("test", tmp_path).labels.tolist() == FINE[3:]
    with pytest.raises(ValueError, match="labels 'middle' is unknown"):
        cifar100("train", tmp_path, labels="middle")  # type: ignore[arg-type]


def test_a_version_that_is_not_complete_is_passed_over(tmp_path: Path) -> None:
    python10(tmp_path)
    (binary10(tmp_path) / "data_batch_3.bin").unlink()
    assert len(cifar10("train", tmp_path)) == 10


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError) as caught:
        cifar100("train", tmp_path)
    message = str(caught.value)
    for part in ("cifar-100-binary/{train.bin", "cifar-100-python/{train,meta}", "truelabel data fetch cifar100"):
        assert part in message
    assert "\n" not in message


def test_a_cut_binary_file_is_refused(tmp_path: Path) -> None:
    path = binary10(tmp_path) / "data_batch_2.bin"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=r"data_batch_2.bin has 6145 bytes, which is no multiple of 3073"):
        cifar10("train", tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"labels": [1]}, "no entry 'data'"),
        ({"data": PIXELS[:1]}, "no entry 'labels'"),
        ([1], "no entry 'data'"),
        ({"data": PIXELS[:1, :5], "labels": [1]}, "not \\(N, 3072\\) uint8"),
        ({"data": "text", "labels": [1]}, "not \\(N, 3072\\) uint8"),
        ({"data": PIXELS[:1], "labels": [1, 2]}, "not one integer per image"),
        ({"data": PIXELS[:1], "labels": ["cat"]}, "not one integer per image"),
        ({"data": PIXELS[:1], "labels": [10]}, "label 10 in row 1"),
    ],
)
def test_a_wrong_python_batch_is_refused(tmp_path: Path, content: Any, message: str) -> None:
    dump(python10(tmp_path) / "test_batch", content)
    with pytest.raises(ValueError, match=message):
        cifar10("test", tmp_path)


def test_a_malicious_batch_does_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "trap"

    class Trap:
        def __reduce__(self) -> Any:
            return os.mkdir, (str(trap),)

    dump(python10(tmp_path) / "test_batch", {"data": Trap(), "labels": [1]})
    with pytest.raises(ValueError, match="mkdir"):
        cifar10("test", tmp_path)
    assert not trap.exists()
