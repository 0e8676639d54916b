"""Small pictures."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.report.thumbnails import array_thumbnail, file_thumbnail, looks_like_picture, to_bytes


def decoded(uri: str) -> Image.Image:
    head, text = uri.split(",")
    assert head in ("data:image/png;base64", "data:image/jpeg;base64")
    image = Image.open(io.BytesIO(base64.b64decode(text)))
    image.load()
    return image


def test_tiny_pictures_are_kept_to_the_pixel() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    thumbnail = array_thumbnail(pixels)
    assert (thumbnail.width, thumbnail.height) == (7, 9)
    np.testing.assert_array_equal(np.asarray(decoded(thumbnail.uri)), pixels)


def test_large_pictures_are_shrunk_to_some_kilobytes(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 256, (1000, 1500, 3), dtype=np.uint8)
    for name in ("a.jpg", "a.png"):
        Image.fromarray(noise).save(tmp_path / name)
        thumbnail = file_thumbnail(tmp_path / name)
        assert (thumbnail.width, thumbnail.height) == (160, 107)
        assert decoded(thumbnail.uri).size == (160, 107)
        assert len(thumbnail.uri) < 30_000


def test_deep_pictures_and_palettes_are_seen(tmp_path: Path) -> None:
    Image.fromarray(np.array([[0, 1000], [500, 250]], np.uint16)).save(tmp_path / "deep.png")
    shown = np.asarray(decoded(file_thumbnail(tmp_path / "deep.png").uri))
    assert shown.tolist() == [[0, 255], [128, 64]]
    Image.new("RGBA", (3, 2), (255, 0, 0, 0)).save(tmp_path / "clear.png")
    assert decoded(file_thumbnail(tmp_path / "clear.png").uri).getpixel((0, 0)) == (255, 0, 0)


def test_arrays_in_either_order_and_any_numbers() -> None:
    colours = np.random.default_rng(0).integers(0, 256, (3, 5, 6), dtype=np.uint8)
    np.testing.assert_array_equal(to_bytes(colours), np.moveaxis(colours, 0, -1))
    assert to_bytes(np.array([[[-1.0, 1.0]]])).tolist() == [[0, 255]]
    assert to_bytes(np.full((2, 2), 7.0)).tolist() == [[0, 0], [0, 0]]
    assert to_bytes(np.array([[np.nan, 2.0]])).tolist() == [[0, 255]]
    with pytest.raises(ValueError, match="no picture"):
        to_bytes(np.zeros((4, 5, 6)))
    assert [
        looks_like_picture(shape) for shape in ((8, 8), (1, 8, 8), (8, 8, 3), (1, 64), (4, 8, 8), (2, 3, 4, 5))
    ] == [
        *(True, True, True),
        *(False, False, False),
    ]


def test_absurd_and_damaged_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("L", (40, 40)).save(tmp_path / "huge.png")
    (tmp_path / "bad.png").write_bytes(b"no picture")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    with pytest.raises(ValueError, match="absurdly large"):
        file_thumbnail(tmp_path / "huge.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(ValueError, match="absurdly large"):
        file_thumbnail(tmp_path / "huge.png")
    with pytest.raises(ValueError, match="cannot be read"):
        file_thumbnail(tmp_path / "bad.png")
