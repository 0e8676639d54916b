from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from truelabel.data import geometry as limits
from truelabel.data import image_folder, read_picture
from truelabel.data.rasters import ending

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("name", ["a.png", "a.bmp", "a.tif", "a.PNG", "a.webp"])
def test_colour_and_grey_as_stored(tmp_path: Path, name: str) -> None:
    colour = RNG.integers(0, 256, (4, 6, 3), np.uint8)
    Image.fromarray(colour).save(tmp_path / name, lossless=True)  # only WebP needs to be told
    values, geometry = read_picture(tmp_path / name)
    assert values.dtype == np.uint8
    np.testing.assert_array_equal(values, colour.transpose(2, 0, 1))
    assert geometry.shape == (4, 6)
    assert geometry.affine is None
    assert geometry.spacing == (1, 1)


def test_modes_are_those_of_the_picture_folder(tmp_path: Path) -> None:
    Image.fromarray(RNG.integers(0, 256, (4, 6, 3), np.uint8)).save(tmp_path / "rgb.png")
    Image.fromarray(RNG.integers(0, 256, (4, 6), np.uint8)).save(tmp_path / "grey.png")
    for name in ("rgb.png", "grey.png"):
        for mode in ("RGB", "L"):
            expected = image_folder(tmp_path, [name], mode=mode)[0]
            np.testing.assert_array_equal(read_picture(tmp_path / name, mode=mode)[0], expected)
    with pytest.raises(ValueError, match="mode 'CMYK' is unknown"):
        read_picture(tmp_path / "rgb.png", mode="CMYK")  # type: ignore[arg-type]


def test_more_than_eight_bits_are_numbers(tmp_path: Path) -> None:
    deep = RNG.integers(0, 65536, (4, 6)).astype(np.uint16)
    Image.fromarray(deep).save(tmp_path / "a.png")
    values, _ = read_picture(tmp_path / "a.png", mode="RGB")
    assert values.dtype == np.float32
    np.testing.assert_array_equal(values, deep[None])


def test_arrays_of_two_to_four_axes(tmp_path: Path) -> None:
    for shape, becomes in (((4, 6), (1, 4, 6)), ((3, 4, 6), (1, 3, 4, 6)), ((2, 3, 4, 6), (2, 3, 4, 6))):
        np.save(tmp_path / "a.npy", np.zeros(shape))
        assert read_picture(tmp_path / "a.npy")[0].shape == becomes
    np.save(tmp_path / "a.npy", RNG.normal(size=(3, 4, 6)))
    values, geometry = read_picture(tmp_path / "a.npy", axes=2)
    assert values.shape == (3, 4, 6)
    assert geometry.shape == (4, 6)
    for wrong in (np.zeros(3), np.zeros((2, 2), complex), np.array([["a", "b"]])):
        np.save(tmp_path / "a.npy", wrong)
        with pytest.raises(ValueError, match="not 2 to 4 axes of numbers"):
            read_picture(tmp_path / "a.npy")


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.png", b"no picture"),
        ("a.png", b""),
        ("a.tif", b"II*\0 no picture"),
        ("a.tif", b""),
        ("a.npy", b"no array"),
        ("a.jpg", b"\xff\xd8\xff\xe0 no picture"),
    ],
)
def test_unreadable_files_are_named(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=name) as caught:
        read_picture(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.bmp"])
def test_cut_files_are_refused(tmp_path: Path, name: str) -> None:
    Image.fromarray(RNG.integers(0, 256, (40, 60, 3), np.uint8)).save(tmp_path / name)
    (tmp_path / name).write_bytes((tmp_path / name).read_bytes()[:-1000])
    with pytest.raises(ValueError, match=f"{name} cannot be read"):
        read_picture(tmp_path / name)


def test_what_is_not_there_or_of_another_kind(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="none.png does not exist"):
        read_picture(tmp_path / "none.png")
    (tmp_path / "a.txt").touch()
    with pytest.raises(ValueError, match=r"a.txt is of an unknown kind: pass one of .*\.nii.*\.png"):
        read_picture(tmp_path / "a.txt")


def test_pickles_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([{}], object), allow_pickle=True)
    with pytest.raises(ValueError, match="holds pickled objects"):
        read_picture(tmp_path / "a.npy")


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_pictures_are_finite(tmp_path: Path, wrong: Any) -> None:
    np.save(tmp_path / "a.npy", np.array([[1.0, wrong]]))
    with pytest.raises(ValueError, match="a.npy holds values that are not finite"):
        read_picture(tmp_path / "a.npy")


def test_absurd_arrays_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.save(tmp_path / "a.npy", np.zeros((20, 20)))
    monkeypatch.setattr(limits, "MOST_VOXELS", 399)
    with pytest.raises(ValueError, match="a.npy is absurdly large"):
        read_picture(tmp_path / "a.npy")


def test_endings() -> None:
    assert [ending(name) for name in ("a.nii.gz", "b/A.B.NII.GZ", "a.gz", "a.b.png", "a")] == [
        ".nii.gz",
        ".nii.gz",
        ".gz",
        ".png",
        "",
    ]
