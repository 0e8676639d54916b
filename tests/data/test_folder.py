from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from truelabel.data import image_folder, list_images


def save(path: Path, height: int = 4, width: int = 6, seed: int = 0) -> Any:
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return pixels


def test_pictures_come_in_the_order_given(tmp_path: Path) -> None:
    first, second = save(tmp_path / "b.png", seed=1), save(tmp_path / "sub" / "a.png", seed=2)
    images = image_folder(tmp_path, ["sub/a.png", "b.png", "sub/a.png"])
    assert images.dtype == np.uint8
    assert images.shape == (3, 3, 4, 6)
    for image, pixels in zip(images, (second, first, second), strict=True):
        for channel in range(3):
            np.testing.assert_array_equal(image[channel], pixels[:, :, channel])


def test_grey_is_the_usual_luma(tmp_path: Path) -> None:
    pixels = save(tmp_path / "a.png")
    images = image_folder(tmp_path, ["a.png"], mode="L")
    assert images.shape == (1, 1, 4, 6)
    np.testing.assert_allclose(images[0, 0], pixels @ [0.299, 0.587, 0.114], atol=1)


def test_size_is_height_then_width(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 4, 6)
    Image.new("L", (10, 10), 77).save(tmp_path / "b.png")
    images = image_folder(tmp_path, ["a.png", "b.png"], size=(2, 3))
    assert images.shape == (2, 3, 2, 3)
    assert np.unique(images[1]).tolist() == [77]


def test_palette_and_transparency_become_colour(tmp_path: Path) -> None:
    Image.new("RGBA", (2, 2), (10, 20, 30, 0)).save(tmp_path / "a.png")
    Image.new("RGB", (2, 2), (10, 20, 30)).quantize(2).save(tmp_path / "b.png")
    images = image_folder(tmp_path, ["a.png", "b.png"])
    assert images[:, :, 0, 0].tolist() == [[10, 20, 30], [10, 20, 30]]


def test_different_sizes_name_the_way_out(tmp_path: Path) -> None:
    save(tmp_path / "a.png", 4, 6)
    save(tmp_path / "b.png", 5, 6)
    with pytest.raises(ValueError, match=r"'b.png' is 5 x 6 \(H x W\) but 'a.png' is 4 x 6: pass size="):
        image_folder(tmp_path, ["a.png", "b.png"])


@pytest.mark.parametrize("name", ["../a.png", "sub/../../a.png", "..\\a.png", "C:\\a.png", "\\a.png", "link/a.png"])
def test_nothing_outside_the_folder_is_read(tmp_path: Path, name: str) -> None:
    save(tmp_path / "a.png")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path, target_is_directory=True)
    for inside in (name, str(tmp_path / "a.png")):
        with pytest.raises(ValueError, match="lies outside"):
            image_folder(tmp_path / "in", [inside])


def test_a_folder_reached_by_a_link_is_fine(tmp_path: Path) -> None:
    save(tmp_path / "real" / "a.png")
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert image_folder(tmp_path / "link", ["a.png"]).shape == (1, 3, 4, 6)


def test_missing_and_unreadable_pictures(tmp_path: Path) -> None:
    save(tmp_path / "whole.png", 40, 40)
    (tmp_path / "cut.png").write_bytes((tmp_path / "whole.png").read_bytes()[:200])
    (tmp_path / "text.png").write_text("no picture")
    with pytest.raises(FileNotFoundError, match="'none.png' is not in"):
        image_folder(tmp_path, ["none.png"])
    for name in ("cut.png", "text.png"):
        with pytest.raises(ValueError, match=f"{name} cannot be read"):
            image_folder(tmp_path, [name])
    Image.fromarray(np.full((2, 2), 40_000, np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(ValueError, match="more than 8 bits"):
        image_folder(tmp_path, ["deep.png"])


@pytest.mark.parametrize("limit", [20, 5])  # Pillow warns above its limit and raises above twice that
def test_absurdly_large_pictures_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    save(tmp_path / "a.png", 4, 6)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
    with pytest.raises(ValueError, match="absurdly large"):
        image_folder(tmp_path, ["a.png"])


@pytest.mark.parametrize(
    ("options", "message"),
    [({"mode": "CMYK"}, "mode 'CMYK'"), ({"size": (0, 3)}, "size"), ({"size": (3,)}, "size")],
)
def test_wrong_options_are_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    save(tmp_path / "a.png")
    with pytest.raises(ValueError, match=message):
        image_folder(tmp_path, ["a.png"], **options)
    with pytest.raises(ValueError, match="files is empty"):
        image_folder(tmp_path, [])
    with pytest.raises(NotADirectoryError, match="a.png"):
        image_folder(tmp_path / "a.png", ["a.png"])


def test_list_images_is_sorted_and_relative(tmp_path: Path) -> None:
    for name in ("b.PNG", "a/z.jpeg", "a.tif", ".hidden.png", ".git/x.png", "notes.txt", "a/c.png/readme"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    assert list_images(tmp_path) == ["a.tif", "a/z.jpeg", "b.PNG"]
    with pytest.raises(NotADirectoryError):
        list_images(tmp_path / "none")
