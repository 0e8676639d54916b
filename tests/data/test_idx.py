from __future__ import annotations

import gzip
import struct
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truelabel.data import MissingDataError, fashion_mnist, mnist, read_idx

CODES = {"u1": (8, "B"), "i1": (9, "b"), "i2": (11, "h"), "i4": (12, "i"), "f4": (13, "f"), "f8": (14, "d")}


def idx_bytes(array: npt.NDArray[Any]) -> bytes:
    """An independent writer: ``struct`` packs one element after the other."""
    code, letter = CODES[array.dtype.str[1:]]
    header = struct.pack(f">BBBB{array.ndim}I", 0, 0, code, array.ndim, *array.shape)
    return header + b"".join(struct.pack(f">{letter}", value) for value in array.ravel().tolist())


def arrays() -> st.SearchStrategy[npt.NDArray[Any]]:
    shapes = hnp.array_shapes(min_dims=1, max_dims=4, min_side=0, max_side=4)
    return st.sampled_from(sorted(CODES)).flatmap(lambda code: hnp.arrays(np.dtype(code), shapes))


@given(array=arrays(), zipped=st.booleans())
def test_round_trip(array: npt.NDArray[Any], zipped: bool) -> None:
    content = idx_bytes(array)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(gzip.compress(content) if zipped else content)
        read = read_idx(path)
    assert read.dtype == array.dtype
    assert read.dtype.isnative
    np.testing.assert_array_equal(read, array)


@given(array=arrays(), data=st.data())
def test_no_prefix_is_accepted(array: npt.NDArray[Any], data: st.DataObject) -> None:
    content = idx_bytes(array)
    kept = data.draw(st.integers(0, len(content) - 1))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(content[:kept])
        with pytest.raises(ValueError, match="file"):
            read_idx(path)


GOOD = idx_bytes(np.arange(6, dtype=np.uint8).reshape(2, 3))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an IDX file"),
        (b"<html>", "not an IDX file"),
        (b"\0\0\x0a\x01" + GOOD[4:], "not an IDX file"),
        (b"\0\0\x08\0" + GOOD[4:], "has 0 dimensions"),
        (b"\0\0\x08\xff" + GOOD[4:], "has 255 dimensions"),
        (GOOD[:6], "ends inside its header"),
        (GOOD[:-1], r"should hold 6 bytes for shape \(2, 3\) but has only 5"),
        (GOOD + b"\0", "has more"),
        (b"\0\0\x08\x02" + b"\xff" * 8 + b"abc", "has only 3"),
        (gzip.compress(GOOD, mtime=0)[:-9], "damaged gzip"),
        (gzip.compress(GOOD, mtime=0)[:-1] + b"\xff", "damaged gzip"),
        (b"\x1f\x8bnonsense", "damaged gzip"),
    ],
)
def test_damage_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "damaged"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_idx(path)
    assert "\n" not in str(caught.value)
    assert str(path) in str(caught.value)


def write_pair(root: Path, folder: str, part: str, images: npt.NDArray[Any], labels: npt.NDArray[Any]) -> None:
    raw = root / folder / "raw"
    raw.mkdir(parents=True, exist_ok=True)
    (raw / f"{part}-images-idx3-ubyte").write_bytes(idx_bytes(images))
    (raw / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx_bytes(labels)))


def test_mnist_reads_the_split_asked_for(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 28, 28), np.uint8)
    write_pair(tmp_path, "MNIST", "train", images, np.array([5, 0, 4], np.uint8))
    write_pair(tmp_path, "MNIST", "t10k", images[:1], np.array([7], np.uint8))
    train, test = mnist("train", tmp_path), mnist("test", tmp_path)
    assert train.inputs.shape == (3, 1, 28, 28)
    np.testing.assert_array_equal(train.inputs[:, 0], images)
    assert train.labels.tolist() == [5, 0, 4]
    assert test.labels.tolist() == [7]
    assert train.classes == tuple(range(10))


def test_wrong_shapes_and_splits_are_refused(tmp_path: Path) -> None:
    write_pair(tmp_path, "MNIST", "train", np.zeros((2, 8, 8), np.uint8), np.zeros(2, np.uint8))
    with pytest.raises(ValueError, match=r"\(2, 8, 8\), not \(N, 28, 28\)"):
        mnist("train", tmp_path)
    with pytest.raises(ValueError, match="split 'val'"):
        mnist("val", tmp_path)  # type: ignore[arg-type]


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=r"FashionMNIST/raw/t10k-images.*truelabel data fetch fashion_mnist"):
        fashion_mnist("test", tmp_path)


def test_real_mnist(real_data: Path) -> None:
    train, test = mnist("train", real_data), mnist("test", real_data)
    counts = [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert np.bincount(train.labels).tolist() == counts
    assert train.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert test.inputs.shape == (10000, 1, 28, 28)
    assert train.scaled().mean() == pytest.approx(0.1307, abs=5e-5)
    assert train.scaled().std() == pytest.approx(0.3081, abs=5e-5)


def test_real_fashion_mnist(real_data: Path) -> None:
    train = fashion_mnist("train", real_data)
    assert np.bincount(train.labels).tolist() == [6000] * 10
    assert train.classes[train.labels[0]] == "Ankle boot"
    assert train.scaled().mean() == pytest.approx(0.2860, abs=5e-5)
