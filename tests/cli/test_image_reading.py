"""How pictures are read for a segmenter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.cli.image_reading import ImageReading, parse_extent, parse_spacing
from truelabel.data import normalise_case, resize


@pytest.mark.parametrize(
    ("text", "axes", "size"),
    [
        (None, 2, None),
        ("64", 2, (64, 64)),
        ("64", 3, (64, 64, 64)),
        ("48X64", 2, (48, 64)),
        ("8x16x16", 3, (8, 16, 16)),
    ],
)
def test_extents(text: str | None, axes: int, size: tuple[int, ...] | None) -> None:
    assert parse_extent("--crop", text, axes) == size


@pytest.mark.parametrize("text", ["", "x", "0", "-3", "3x", "3.5", "²"])
def test_what_is_no_extent(text: str) -> None:
    with pytest.raises(ValueError, match="--patch must be like 64, 48x64 or 32x64x64, got"):
        parse_extent("--patch", text, 2)


def test_an_extent_fits_the_axes() -> None:
    with pytest.raises(ValueError, match="--patch 8x8 has 2 numbers, but the pictures have 3 axes"):
        parse_extent("--patch", "8x8", 3)


def test_spacing() -> None:
    assert parse_spacing(None) is None
    assert parse_spacing("1,1, 2.5") == (1, 1, 2.5)
    with pytest.raises(ValueError, match="--spacing must be like 1,1,3, got '1x1'"):
        parse_spacing("1x1")


@pytest.mark.parametrize(
    "reading",
    [
        ImageReading(),
        ImageReading(("flair", "t1"), normalise="nonzero", spacing=(1, 1, 2.5), crop=(8, 8, 4), values=(0, 4)),
        ImageReading(grey=True, size=(6, 8), pattern="{image}_{reader}_seg", values=(0, 1)),
    ],
)
def test_it_is_kept(reading: ImageReading, tmp_path: Path) -> None:
    reading.save(tmp_path)
    assert ImageReading.load(tmp_path) == reading
    assert ImageReading.load(tmp_path / "none") == ImageReading()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"images": 3}'])
def test_a_damaged_record_is_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "inputs.json").write_text(text)
    with pytest.raises((ValueError, RuntimeError), match="inputs.json"):
        ImageReading.load(tmp_path)


def test_bytes_are_brought_to_the_channels_of_the_run(tmp_path: Path) -> None:
    colours = np.random.default_rng(0).integers(0, 256, (5, 6, 3)).astype(np.uint8)
    Image.fromarray(colours).save(tmp_path / "colour.png")
    Image.fromarray(colours).convert("L").save(tmp_path / "grey.png")
    with Image.open(tmp_path / "grey.png") as image:
        grey = np.asarray(image)
    for file in ("colour.png", "grey.png"):
        values, geometry = ImageReading().picture([tmp_path / file], 1, 2)
        assert np.array_equal(values[0], grey)
        assert geometry.shape == (5, 6)
    assert np.array_equal(ImageReading().picture([tmp_path / "colour.png"], 3, 2)[0], np.moveaxis(colours, -1, 0))
    assert ImageReading().picture([tmp_path / "grey.png"], 3, 2)[0].shape == (3, 5, 6)


def test_pictures_are_prepared_as_in_training_but_for_the_crop(tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(50, 9, (6, 8)).astype(np.float32)
    np.save(tmp_path / "a.npy", values)
    reading = ImageReading(normalise="all", size=(3, 4))
    picture, geometry = reading.picture([tmp_path / "a.npy"], 1, 2)
    assert np.allclose(picture, resize(normalise_case(values[None], "all"), (3, 4)))
    assert geometry.shape == (6, 8)
    assert ImageReading(normalise="all", crop=(2, 2)).picture([tmp_path / "a.npy"], 1, 2)[0].shape == (1, 6, 8)


def test_channels_lie_on_one_grid_and_there_are_as_many_as_in_training(tmp_path: Path) -> None:
    for name, shape in {"a": (4, 5), "b": (4, 5), "c": (5, 4)}.items():
        np.save(tmp_path / f"{name}.npy", np.full(shape, ord(name), np.float32))
    files = [tmp_path / f"{name}.npy" for name in "abc"]
    values, _ = ImageReading(("a", "b")).picture(files[:2], 2, 2)
    assert values[:, 0, 0].tolist() == [ord("a"), ord("b")]
    with pytest.raises(ValueError, match="c.npy is 5 x 4 but .*a.npy is 4 x 5: bring both to one grid first"):
        ImageReading(("a", "c")).picture([files[0], files[2]], 2, 2)
    with pytest.raises(ValueError, match="a.npy has 1 channels in 2 dimensions, but the run learned from 4 in 2"):
        ImageReading().picture(files[:1], 4, 2)
