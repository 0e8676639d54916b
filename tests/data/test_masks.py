from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image

from truelabel.data import Geometry, read_mask, write_mask

RNG = np.random.default_rng(0)
AFFINE = np.array([[-0.9, 0, 0, 50], [0, 1.2, 0, -60], [0, 0, 2.4, 7], [0, 0, 0, 1.0]])


def save(path: Path, values: Any, mode: str | None = None) -> Path:
    image = Image.fromarray(np.asarray(values))
    (image if mode is None else image.convert(mode)).save(path)
    return path


def numbers(axes: int, high: int, low: int = 0) -> st.SearchStrategy[npt.NDArray[Any]]:
    shapes = hnp.array_shapes(min_dims=axes, max_dims=axes, max_side=5)
    return hnp.arrays(np.int64, shapes, elements=st.integers(low, high))


@settings(max_examples=40)
@given(values=st.one_of(numbers(2, 20), numbers(2, 65535)))
def test_png_gives_back_what_was_written(values: npt.NDArray[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mask.png")
        write_mask(path, values)
        read, geometry = read_mask(path, classes=np.unique(values).tolist())
        with Image.open(path) as image:
            np.testing.assert_array_equal(np.asarray(image), values)
            assert image.mode == ("P" if values.max() < 256 else "I;16")
    np.testing.assert_array_equal(read, values)
    assert geometry.shape == values.shape


@settings(max_examples=40)
@given(
    values=st.one_of(numbers(2, 40_000, -1), numbers(3, 20, -1)),
    ending=st.sampled_from([".tif", ".tiff", ".nii", ".nii.gz", ".npy"]),
)
def test_other_formats_keep_missing_labels_and_volumes(values: npt.NDArray[Any], ending: str) -> None:
    known = sorted(set(values.ravel().tolist()) - {-1}) or [0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"mask{ending}")
        write_mask(path, values)
        read, geometry = read_mask(path, classes=known)
    np.testing.assert_array_equal(read, values)
    assert read.dtype == (np.int32 if values.max() > 32767 else np.int16)
    assert geometry.shape == values.shape


@settings(max_examples=40)
@given(values=numbers(2, 20, -1))
def test_png_with_a_number_for_no_label(values: npt.NDArray[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mask.png")
        write_mask(path, values, void=255)
        np.testing.assert_array_equal(read_mask(path, void=255)[0], values)


@settings(max_examples=40)
@given(data=st.data(), ending=st.sampled_from([".png", ".tif", ".nii", ".nii.gz", ".npy"]))
def test_a_cut_file_is_refused_or_still_whole(data: st.DataObject, ending: str) -> None:
    values = np.arange(600).reshape(20, 30) % 5
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"mask{ending}")
        write_mask(path, values)
        content = path.read_bytes()
        path.write_bytes(content[: data.draw(st.integers(0, len(content) - 1))])
        read, message = None, path.name
        try:
            read, _ = read_mask(path)
        except ValueError as error:
            message = str(error)
    assert path.name in message
    assert "\n" not in message
    if read is not None:
        np.testing.assert_array_equal(read, values)


def test_the_place_of_a_volume_comes_back(tmp_path: Path) -> None:
    geometry = Geometry((2, 3, 4), (0.9, 1.2, 2.4), AFFINE)
    write_mask(tmp_path / "new" / "a.nii.gz", np.zeros((2, 3, 4), int), geometry)
    read = read_mask(tmp_path / "new" / "a.nii.gz")[1]
    geometry.require_same(read, "a", "b", tolerance=1e-5)
    np.testing.assert_allclose(read.spacing, geometry.spacing, rtol=1e-6)
    for name in ("a.tif", "a.png"):
        with pytest.raises(ValueError, match=f"{name} cannot hold the affine"):
            write_mask(tmp_path / name, np.zeros((2, 3, 4), int), geometry)


def test_colours_are_those_of_pascal_voc(tmp_path: Path) -> None:
    write_mask(tmp_path / "a.png", np.array([[0, 1, 2, 3, 8, 15, 20, 255]]))
    with Image.open(tmp_path / "a.png") as image:
        seen = np.asarray(image.convert("RGB"))[0].tolist()
    assert seen == [
        [0, 0, 0],
        [128, 0, 0],
        [0, 128, 0],
        [128, 128, 0],
        [64, 0, 0],
        [192, 128, 128],
        [0, 64, 128],
        [224, 224, 192],
    ]


def test_black_and_white_are_zero_and_one(tmp_path: Path) -> None:
    shape = RNG.integers(0, 2, (5, 9)).astype(bool)
    for name, stored in {
        "bits.png": shape,
        "grey.png": shape * np.uint8(255),
        "ones.png": shape.astype(np.uint8),
        "rgb.png": np.repeat(shape[..., None] * np.uint8(255), 3, 2),
        "grey.bmp": shape * np.uint8(255),
        "bits.tif": shape,
    }.items():
        read, _ = read_mask(save(tmp_path / name, stored))
        np.testing.assert_array_equal(read, shape, err_msg=name)
    assert read_mask(save(tmp_path / "empty.png", np.zeros((2, 2), np.uint8)))[0].tolist() == [[0, 0], [0, 0]]
    alpha = np.dstack([np.repeat(shape[..., None] * np.uint8(255), 3, 2), RNG.integers(0, 256, shape.shape, np.uint8)])
    np.testing.assert_array_equal(read_mask(save(tmp_path / "alpha.png", alpha))[0], shape)


def test_255_means_what_the_user_says(tmp_path: Path) -> None:
    path = save(tmp_path / "a.png", np.array([[0, 255]], np.uint8))
    assert read_mask(path)[0].tolist() == [[0, 1]]
    assert read_mask(path, classes=("bg", "fg"))[0].tolist() == [[0, 1]]
    assert read_mask(path, void=255)[0].tolist() == [[0, -1]]
    assert read_mask(path, classes=[0, 255])[0].tolist() == [[0, 255]]
    with pytest.raises(ValueError, match="a.png holds 255, which is not among the classes"):
        read_mask(path, classes=3)
    three = save(tmp_path / "b.png", np.array([[0, 1, 255]], np.uint8))
    assert read_mask(three)[0].tolist() == [[0, 1, 255]]


def test_floating_point_is_fine_where_it_is_whole(tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel")
    stored = RNG.integers(0, 4, (3, 4, 5)).astype(np.float32)
    nibabel.save(nibabel.Nifti1Image(stored, np.eye(4)), tmp_path / "a.nii")
    np.testing.assert_array_equal(read_mask(tmp_path / "a.nii")[0], stored)
    np.save(tmp_path / "a.npy", np.array([[0.0, np.nan, 2.0]]))
    assert read_mask(tmp_path / "a.npy")[0].tolist() == [[0, -1, 2]]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.0, 0.37]], "holds 0.37, which is no class number: it looks like a picture"),
        ([[0, -3]], "holds -3, which is no class number"),
        ([[0.0, np.inf]], "holds inf, which is no class number"),
        ([[0, 1 << 40]], "holds 1099511627776, which is no class number"),
        ([list(range(300))], "has 300 different values, so it looks like a picture, not a mask: pass classes="),
    ],
)
def test_what_is_no_mask_is_refused(tmp_path: Path, values: Any, message: str) -> None:
    np.save(tmp_path / "a.npy", np.array(values))
    with pytest.raises(ValueError, match=f"a.npy {message}") as caught:
        read_mask(tmp_path / "a.npy")
    assert "\n" not in str(caught.value)


def test_photographs_are_refused_and_many_classes_allowed(tmp_path: Path) -> None:
    save(tmp_path / "photo.png", RNG.integers(0, 256, (20, 20, 3), np.uint8))
    with pytest.raises(ValueError, match="photo.png has colours or channels, so it is no mask"):
        read_mask(tmp_path / "photo.png")
    save(tmp_path / "scan.png", RNG.integers(0, 256, (64, 64), np.uint8))
    with pytest.raises(ValueError, match="scan.png has 256 different values"):
        read_mask(tmp_path / "scan.png")
    assert read_mask(tmp_path / "scan.png", classes=256)[0].max() == 255
    save(tmp_path / "blurred.jpg", np.zeros((8, 8), np.uint8))
    with pytest.raises(ValueError, match="blurred.jpg is JPEG, which blurs class numbers"):
        read_mask(tmp_path / "blurred.jpg")


@pytest.mark.parametrize(
    ("name", "values", "options", "message"),
    [
        ("a.png", np.zeros((2, 2, 2), int), {}, "a.png holds one picture, but values are 2 x 2 x 2"),
        ("a.png", np.array([[-1, 0]]), {}, r"a.png cannot hold -1 \(no label\): pass void=255"),
        ("a.png", np.array([[70_000]]), {}, "a.png cannot hold more than 65535"),
        ("a.jpg", np.zeros((2, 2), int), {}, "a.jpg cannot hold a mask: end it in .png"),
        ("a.png", np.array([[0.5]]), {}, "values holds 0.5, which is no class number"),
        ("a.png", np.array([["a"]]), {}, "values holds <U1"),
        ("a.png", np.array([[255, -1]]), {"void": 255}, "void 255 is a class"),
        ("a.png", np.array([[0]]), {"void": -2}, "void -2"),
        ("a.png", np.zeros((2, 2), int), {"geometry": Geometry((2, 3))}, "values are 2 x 2 but geometry is 2 x 3"),
    ],
)
def test_wrong_masks_are_not_written(tmp_path: Path, name: str, values: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_mask(tmp_path / name, values, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.nii.gz", "a.npy"])
def test_a_file_is_whole_or_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    write_mask(tmp_path / name, np.eye(4, dtype=int))
    before = (tmp_path / name).read_bytes()

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="the disk is full"):
        write_mask(tmp_path / name, np.zeros((4, 4), int))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes() == before
