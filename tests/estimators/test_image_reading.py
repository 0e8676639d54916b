"""How pictures are read for a segmenter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.data import normalise_case, resize
from truelabel.estimators.image_reading import ImageReading


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


def test_doubts_about_images_that_were_not_read_so() -> None:
    scans = np.random.default_rng(0).normal(300, 50, (2, 1, 6, 8)).astype(np.float32)
    prepared = np.stack([normalise_case(scan, "all") for scan in scans])
    assert ImageReading().doubt(scans) is None
    assert ImageReading(normalise="all").doubt(prepared) is None
    assert (ImageReading(normalise="all").doubt(scans) or "").startswith("images have a mean of 30")
    said = ImageReading(normalise="nonzero").doubt(prepared.astype(np.uint8))
    assert said == "images are bytes, not brought to mean 0 and variance 1"
    assert ImageReading(size=(6, 6)).doubt(scans) == "images are 6 x 8, not 6 x 6"
    assert ImageReading(size=(6, 8)).doubt(scans) is None
