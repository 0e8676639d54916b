from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from PIL import Image

from truelabel.data import geometry as limits
from truelabel.data.tiff import load_tiff, tiff_bytes

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["u1", "u2", "i2", "i4", "f4"])
@pytest.mark.parametrize("shape", [(4, 6), (3, 4, 6)])
def test_pages_are_a_volume_of_any_depth(tmp_path: Path, dtype: str, shape: tuple[int, ...]) -> None:
    stored = RNG.integers(0, 100, shape).astype(dtype)
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="minisblack")
    for colours in (True, False):
        read = load_tiff(tmp_path / "a.tif", colours=colours)
        assert read.dtype == stored.dtype
        np.testing.assert_array_equal(read, stored[None])


def test_channels_come_first_and_transparency_goes(tmp_path: Path) -> None:
    colour = RNG.integers(0, 256, (4, 6, 4), np.uint8)
    tifffile.imwrite(tmp_path / "rgb.tif", colour[..., :3], photometric="rgb")
    tifffile.imwrite(tmp_path / "rgba.tif", colour, photometric="rgb", extrasamples=["unassalpha"])
    tifffile.imwrite(tmp_path / "dyes.tif", colour, photometric="minisblack", planarconfig="contig")
    np.testing.assert_array_equal(load_tiff(tmp_path / "rgb.tif", colours=True), colour[..., :3].transpose(2, 0, 1))
    np.testing.assert_array_equal(load_tiff(tmp_path / "rgba.tif", colours=True), colour[..., :3].transpose(2, 0, 1))
    np.testing.assert_array_equal(load_tiff(tmp_path / "dyes.tif", colours=True), colour.transpose(2, 0, 1))


def test_microscope_stacks_say_which_axis_is_channels(tmp_path: Path) -> None:
    stack = RNG.integers(0, 9, (5, 2, 4, 6)).astype(np.uint16)
    tifffile.imwrite(tmp_path / "a.tif", stack, imagej=True, metadata={"axes": "ZCYX"})
    np.testing.assert_array_equal(load_tiff(tmp_path / "a.tif", colours=True), stack.transpose(1, 0, 2, 3))
    tifffile.imwrite(tmp_path / "film.tif", stack[None].repeat(2, 0), imagej=True, metadata={"axes": "TZCYX"})
    with pytest.raises(ValueError, match="it has the axes TZCYX"):
        load_tiff(tmp_path / "film.tif", colours=True)


def test_a_palette_is_looked_up_for_the_eye_only(tmp_path: Path) -> None:
    lookup = np.zeros((3, 256), np.uint16)
    lookup[0, 2] = 0xFFFF
    stored = np.array([[0, 2]], np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="palette", colormap=lookup)
    np.testing.assert_array_equal(load_tiff(tmp_path / "a.tif", colours=False), stored[None])
    assert load_tiff(tmp_path / "a.tif", colours=True)[:, 0].tolist() == [[0, 255], [0, 0], [0, 0]]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.uint16])
def test_white_that_is_zero_is_turned_for_the_eye_only(tmp_path: Path, dtype: Any) -> None:
    stored = np.array([[0, 1, 1, 0, 1, 0, 0, 1]]).astype(dtype)
    tifffile.imwrite(tmp_path / "a.tif", stored, photometric="miniswhite")
    np.testing.assert_array_equal(load_tiff(tmp_path / "a.tif", colours=False)[0], stored)
    white = 255 if dtype is bool else np.iinfo(dtype).max
    np.testing.assert_array_equal(
        load_tiff(tmp_path / "a.tif", colours=True)[0], white - stored * (white if dtype is bool else 1)
    )


@pytest.mark.parametrize("photometric", [0, 1])
@pytest.mark.parametrize("mode", ["1", "L"])
def test_compressions_that_tifffile_lacks(tmp_path: Path, mode: str, photometric: int) -> None:
    shown = RNG.integers(0, 2, (4, 16)).astype(bool if mode == "1" else np.uint8)
    page = Image.fromarray(shown)
    page.save(tmp_path / "a.tif", compression="tiff_lzw", tiffinfo={262: photometric})
    with tifffile.TiffFile(tmp_path / "a.tif") as file:
        assert file.pages[0].compression == tifffile.COMPRESSION.LZW
        assert file.pages[0].photometric == photometric  # type: ignore[union-attr]
    with Image.open(tmp_path / "a.tif") as image:
        seen = np.asarray(image.convert("L"))
    np.testing.assert_array_equal(load_tiff(tmp_path / "a.tif", colours=True)[0], seen)
    white = 1 if mode == "1" else 255
    one = seen // 255 if mode == "1" else seen
    stored = white - one if photometric == 0 else one
    np.testing.assert_array_equal(load_tiff(tmp_path / "a.tif", colours=False)[0], stored)


def test_pages_of_several_kinds_are_refused(tmp_path: Path) -> None:
    with tifffile.TiffWriter(tmp_path / "a.tif") as file:
        file.write(np.zeros((4, 6), np.uint8))
        file.write(np.zeros((5, 6), np.uint8))
    with pytest.raises(ValueError, match="it holds 2 pictures of different kinds"):
        load_tiff(tmp_path / "a.tif", colours=True)


def test_absurd_sizes_are_refused_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tifffile.imwrite(tmp_path / "a.tif", np.zeros((3, 4, 6), np.uint8), photometric="minisblack")
    monkeypatch.setattr(limits, "MOST_VOXELS", 71)
    with pytest.raises(ValueError, match=r"a.tif is absurdly large \(3 x 4 x 6\)"):
        load_tiff(tmp_path / "a.tif", colours=True)


def test_pillow_reads_what_is_written() -> None:
    stored = RNG.integers(0, 5, (3, 4, 6)).astype(np.uint8)
    with Image.open(io.BytesIO(tiff_bytes(stored))) as image:
        for page in range(3):
            image.seek(page)
            np.testing.assert_array_equal(np.asarray(image), stored[page])
