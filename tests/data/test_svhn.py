from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from truelabel.data import MissingDataError, svhn

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (32, 32, 3, 4), np.uint8)
LABELS = np.array([[1], [10], [9], [10]], np.uint8)


def write(path: Path, **changes: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {"X": IMAGES, "y": LABELS} | changes
    savemat(path, {name: value for name, value in content.items() if value is not None})


@pytest.mark.parametrize("place", ["svhn", "."])
def test_images_and_digits(tmp_path: Path, place: str) -> None:
    write(tmp_path / place / "train_32x32.mat")
    write(tmp_path / place / "test_32x32.mat", X=IMAGES[..., :1], y=LABELS[:1])
    data = svhn("train", tmp_path)
    assert data.inputs.dtype == np.uint8
    assert data.inputs.flags.c_contiguous
    for number in range(4):
        for channel in range(3):
            np.testing.assert_array_equal(data.inputs[number, channel], IMAGES[:, :, channel, number])
    assert data.labels.tolist() == [1, 0, 9, 0]
    assert data.classes == tuple(range(10))
    assert svhn("test", tmp_path).labels.tolist() == [1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"X": None}, r"'X' in .*train_32x32.mat is not \(32, 32, 3, N\) uint8: download"),
        ({"X": IMAGES.astype(float)}, "'X' in"),
        ({"X": IMAGES[:16]}, "'X' in"),
        ({"y": None}, "'y' in .* is not one integer per image"),
        ({"y": LABELS[:3]}, "'y' in .* is not one integer per image"),
        ({"y": LABELS + 0.5}, "'y' in .* is not one integer per image"),
        ({"y": LABELS - 1}, "'y' in .* has labels outside 1..10"),
        ({"y": LABELS + 1}, "'y' in .* has labels outside 1..10"),
    ],
)
def test_damage_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    write(tmp_path / "train_32x32.mat", **changes)
    with pytest.raises(ValueError, match=message):
        svhn("train", tmp_path)


def test_what_is_no_matlab_file(tmp_path: Path) -> None:
    write(tmp_path / "train_32x32.mat")
    whole = (tmp_path / "train_32x32.mat").read_bytes()
    for content in (b"<html>", b"", whole[:5000]):
        (tmp_path / "train_32x32.mat").write_bytes(content)
        with pytest.raises(ValueError, match="no MATLAB file that can be read") as caught:
            svhn("train", tmp_path)
        assert "\n" not in str(caught.value)


def test_missing_files_and_unknown_splits(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="expected svhn/test_32x32.mat; `truelabel data fetch svhn`"):
        svhn("test", tmp_path)
    with pytest.raises(ValueError, match="split 'extra' is unknown"):
        svhn("extra", tmp_path)  # type: ignore[arg-type]
