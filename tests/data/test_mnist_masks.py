from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from truelabel.data import MissingDataError, mnist_segmentation


@pytest.fixture
def root(tmp_path: Path) -> Path:
    raw = tmp_path / "MNIST" / "raw"
    raw.mkdir(parents=True)
    images = np.random.default_rng(0).integers(0, 256, (40, 28, 28), np.uint8)
    images[0, 0, :4] = [0, 127, 128, 255]
    (raw / "train-images-idx3-ubyte").write_bytes(struct.pack(">BBBB3I", 0, 0, 8, 3, 40, 28, 28) + images.tobytes())
    (raw / "train-labels-idx1-ubyte").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, 40) + bytes(40))
    return tmp_path


def test_masks_are_what_is_brighter_than_one_half(root: Path) -> None:
    data = mnist_segmentation("train", root)
    assert data.inputs.shape == (40, 1, 28, 28)
    assert data.inputs.dtype == np.uint8
    assert data.labels[0, 0, :4].tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(data.labels, data.scaled()[:, 0] > 0.5)
    assert data.classes == ("background", "digit")
    assert len(data.take([3, 1])) == 2


def test_noise_is_added_to_the_image_and_cut(root: Path) -> None:
    clean, noisy = mnist_segmentation("train", root), mnist_segmentation("train", root, noise=0.3)
    np.testing.assert_array_equal(clean.labels, noisy.labels)
    assert noisy.inputs.dtype == np.float32
    assert noisy.inputs.min() == 0
    assert noisy.inputs.max() == 1
    middle = np.abs(clean.scaled() - 0.5) < 0.02
    spread = (noisy.inputs - clean.scaled())[middle]
    inside = np.clip(0.3 * np.random.default_rng(1).normal(size=100_000), -0.5, 0.5)
    assert spread.std() == pytest.approx(inside.std(), rel=0.05)
    assert abs(spread.mean()) < 0.02


def test_draws_come_from_the_seed_alone(root: Path) -> None:
    state = torch.get_rng_state()
    first = mnist_segmentation("train", root, noise=0.3, seed=1).inputs
    np.testing.assert_array_equal(first, mnist_segmentation("train", root, noise=0.3, seed=1).inputs)
    own = torch.Generator().manual_seed(1)
    np.testing.assert_array_equal(first, mnist_segmentation("train", root, noise=0.3, seed=own).inputs)
    assert not np.array_equal(first, mnist_segmentation("train", root, noise=0.3, seed=2).inputs)
    assert torch.equal(torch.get_rng_state(), state)


def test_wrong_noise_and_missing_files(root: Path) -> None:
    for noise in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="is not a standard deviation"):
            mnist_segmentation("train", root, noise=noise)
    with pytest.raises(MissingDataError, match="t10k-images"):
        mnist_segmentation("test", root)


def test_real_digits(real_data: Path) -> None:
    data = mnist_segmentation("test", real_data)
    assert data.labels.shape == (10000, 28, 28)
    assert float(data.labels.mean()) == pytest.approx(0.13423, abs=1e-5)
