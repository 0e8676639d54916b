from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.data.pixels import load_frames, load_pixels


def test_eye_and_store_differ_for_palettes_and_bits(tmp_path: Path) -> None:
    palette = Image.fromarray(np.array([[0, 2], [1, 2]], np.uint8))
    palette.putpalette([0, 0, 0, 255, 0, 0, 0, 255, 0])
    palette.save(tmp_path / "palette.png")
    assert load_pixels(tmp_path / "palette.png", colours=False).tolist() == [[[0, 2], [1, 2]]]
    shown = load_pixels(tmp_path / "palette.png", colours=True)
    assert shown[:, 0, 1].tolist() == [0, 255, 0]
    assert shown[:, 1, 0].tolist() == [255, 0, 0]
    Image.fromarray(np.array([[False, True]])).save(tmp_path / "bits.png")
    assert load_pixels(tmp_path / "bits.png", colours=False).tolist() == [[[0, 1]]]
    assert load_pixels(tmp_path / "bits.png", colours=True).tolist() == [[[0, 255]]]


@pytest.mark.parametrize(
    ("mode", "colour", "seen"),
    [
        ("L", 7, [7]),
        ("LA", (7, 0), [7]),
        ("RGB", (1, 2, 3), [1, 2, 3]),
        ("RGBA", (1, 2, 3, 0), [1, 2, 3]),
        ("I;16", 40_000, [40_000]),
    ],
)
def test_transparency_is_dropped_and_depth_kept(tmp_path: Path, mode: str, colour: object, seen: list[int]) -> None:
    Image.new(mode, (3, 2), colour).save(tmp_path / "a.png")  # type: ignore[arg-type]
    pixels = load_pixels(tmp_path / "a.png", colours=True)
    assert pixels.shape == (len(seen), 2, 3)
    assert pixels[:, 1, 2].tolist() == seen


def test_colour_of_print_becomes_light(tmp_path: Path) -> None:
    Image.new("CMYK", (2, 2), (0, 0, 0, 0)).save(tmp_path / "a.jpg")
    for colours in (True, False):
        pixels = load_pixels(tmp_path / "a.jpg", colours=colours)
        assert pixels.shape == (3, 2, 2)
        assert (pixels > 250).all()


def test_frames_are_pages(tmp_path: Path) -> None:
    pages = [Image.new("L", (3, 2), level) for level in (5, 6, 7)]
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:])
    frames = load_frames(tmp_path / "a.tif")
    assert frames.shape == (1, 3, 2, 3)
    assert frames[0, :, 0, 0].tolist() == [5, 6, 7]
    pages[0].save(tmp_path / "one.tif")
    assert load_frames(tmp_path / "one.tif").shape == (1, 2, 3)


@pytest.mark.parametrize("limit", [20, 5])  # Pillow warns above its limit and raises above twice that
def test_absurdly_large_pictures_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    Image.new("L", (4, 6)).save(tmp_path / "a.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(ValueError, match="a.png is absurdly large"):
        load_pixels(tmp_path / "a.png", colours=False)
