from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from truelabel.data import mask_folder, read_mask, write_mask

CELLS = Path(__file__).resolve().parents[3] / "shared" / "data" / "cells"
RNG = np.random.default_rng(0)
SHAPE = (4, 6)


def picture(path: Path, shape: tuple[int, ...] = SHAPE) -> Any:
    pixels = RNG.integers(0, 256, shape, np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)
    return pixels


def drawn(path: Path, shape: tuple[int, ...] = SHAPE) -> Any:
    mask = RNG.integers(0, 2, shape)
    write_mask(path, mask)
    return mask


PLACES = {
    "reader-folders": ("images/{image}.png", "{reader}/{image}.png"),
    "case-folders": ("{image}/image.png", "{image}/{reader}.png"),
    "suffixes": ("{image}.png", "{image}_{reader}.png"),
}


@pytest.mark.parametrize("layout", PLACES)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_by=st.lists(st.sets(st.sampled_from(["ann", "bob", "cid"]), min_size=1), min_size=1, max_size=4))
def test_layouts_hold_the_same(tmp_path_factory: pytest.TempPathFactory, layout: str, given_by: list[set[str]]) -> None:
    top = tmp_path_factory.mktemp("folder")
    image_at, mask_at = PLACES[layout]
    readers = sorted(set().union(*given_by))
    images, masks = [], np.full((len(given_by), len(readers), *SHAPE), -1)
    for row, mine in enumerate(given_by):
        images.append(picture(top / image_at.format(image=f"scan{row}")))
        for reader in mine:
            place = top / mask_at.format(image=f"scan{row}", reader=reader)
            masks[row, readers.index(reader)] = drawn(place)
    for named in (None, layout):
        data = mask_folder(top, layout=named, classes=2)  # type: ignore[arg-type]
        np.testing.assert_array_equal(data.images, np.array(images)[:, None])
        np.testing.assert_array_equal(data.annotations.matrix(), masks)
        assert data.readers.tolist() == readers
        assert data.names.tolist() == [f"scan{row}" for row in range(len(given_by))]
    alone = mask_folder(top, layout=layout, images=None, classes=2)  # type: ignore[arg-type]
    assert alone.images is None
    np.testing.assert_array_equal(alone.annotations.matrix(), masks)


def test_readers_and_their_order_can_be_chosen(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "a.png")
    masks = {name: drawn(tmp_path / name / "a.png") for name in ("ann", "bob", "cid")}
    data = mask_folder(tmp_path, readers=["cid", "ann"], classes=2)
    assert data.readers.tolist() == ["cid", "ann"]
    np.testing.assert_array_equal(data.annotations.matrix()[0], [masks["cid"], masks["ann"]])
    with pytest.raises(TypeError, match=r"pass a list of names, \['ann'\]"):
        mask_folder(tmp_path, readers="ann")


def test_channels_by_name(tmp_path: Path) -> None:
    for case in ("a", "b"):
        for name in ("flair", "t1", "ann"):
            write_mask(tmp_path / case / f"{name}.nii.gz", np.full((3, 4, 5), {"flair": 7, "t1": 8, "ann": 1}[name]))
    data = mask_folder(tmp_path, images=("t1", "flair"), classes=2)
    assert data.images is not None
    assert data.images.shape == (2, 2, 3, 4, 5)
    assert (data.images[:, 0] == 8).all()
    assert (data.images[:, 1] == 7).all()
    assert data.readers.tolist() == ["ann"]
    assert data.geometry[0].affine is not None
    only = mask_folder(tmp_path, images=["flair"], readers=["ann"], classes=2)
    assert only.images is not None
    assert only.images.shape == (2, 1, 3, 4, 5)


def test_unread_images(tmp_path: Path) -> None:
    for name in ("a", "b"):
        picture(tmp_path / "images" / f"{name}.png")
    drawn(tmp_path / "ann" / "a.png")
    with pytest.raises(ValueError, match="image 'b' in .* has no mask by any reader: .* unread='drop' or 'keep'"):
        mask_folder(tmp_path)
    assert mask_folder(tmp_path, unread="drop").names.tolist() == ["a"]
    kept = mask_folder(tmp_path, unread="keep")
    assert kept.names.tolist() == ["a", "b"]
    assert kept.annotations.counts.tolist() == [1, 0]
    with pytest.raises(ValueError, match="unread 'maybe'"):
        mask_folder(tmp_path, unread="maybe")  # type: ignore[arg-type]


def test_sizes_that_differ(tmp_path: Path) -> None:
    for name, shape in (("a", (4, 6)), ("b", (8, 8))):
        picture(tmp_path / "images" / f"{name}.png", shape)
        drawn(tmp_path / "ann" / f"{name}.png", shape)
    with pytest.raises(ValueError, match=r"b.png is 8 x 8 but .*a.png is 4 x 6: pass size=.* or crop="):
        mask_folder(tmp_path)
    for data in (mask_folder(tmp_path, classes=2, size=(8, 8)), mask_folder(tmp_path, classes=2, crop=(8, 8))):
        assert data.images is not None
        assert data.images.shape == (2, 1, 8, 8)
        assert data.images.dtype == np.uint8
        np.testing.assert_array_equal(data.annotations.label[1], read_mask(tmp_path / "ann" / "b.png")[0])
    padded = mask_folder(tmp_path, classes=2, crop=(8, 8)).annotations.label[0]
    np.testing.assert_array_equal(padded[2:6, 1:7], read_mask(tmp_path / "ann" / "a.png")[0])
    assert (padded == -1).sum() == 8 * 8 - 4 * 6
    with pytest.raises(ValueError, match="are both given"):
        mask_folder(tmp_path, size=(8, 8), crop=(8, 8))


def test_a_mask_of_another_size_than_its_image(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "a.png", (4, 6))
    drawn(tmp_path / "ann" / "a.png", (4, 7))
    for size in (None, (8, 8)):
        with pytest.raises(ValueError, match=r"ann/a.png is 4 x 7 but .*images/a.png is 4 x 6"):
            mask_folder(tmp_path, size=size)


def test_a_picture_among_the_masks(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "a.png", (30, 30))
    picture(tmp_path / "ann" / "a.png", (30, 30))
    with pytest.raises(ValueError, match="different values, so it looks like a picture, not a mask: pass classes="):
        mask_folder(tmp_path)


def test_colour_and_grey_mix_only_by_mode(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "a.png", (*SHAPE, 3))
    picture(tmp_path / "images" / "b.png")
    for name in ("a", "b"):
        drawn(tmp_path / "ann" / f"{name}.png")
    with pytest.raises(ValueError, match=r"b.png has 1 channels but .*a.png has 3: pass mode='RGB' or 'L'"):
        mask_folder(tmp_path)
    for mode, channels in (("RGB", 3), ("L", 1)):
        data = mask_folder(tmp_path, mode=mode)  # type: ignore[arg-type]
        assert data.images is not None
        assert data.images.shape == (2, channels, *SHAPE)


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="images is empty"):
        mask_folder(tmp_path, images=())
    with pytest.raises(NotADirectoryError, match="none"):
        mask_folder(tmp_path / "none")


def test_a_prediction_can_be_written_where_its_image_is(tmp_path: Path) -> None:
    nibabel = pytest.importorskip("nibabel")
    affine = np.array([[0.0, 2, 0, 5], [-1, 0, 0, 6], [0, 0, 3, 7], [0, 0, 0, 1]])
    marked = np.zeros((6, 8, 4), np.int16)
    marked[2:4, 2:6, 1:3] = 1
    for name in ("image", "ann"):
        (tmp_path / "in" / "a").mkdir(parents=True, exist_ok=True)
        nibabel.save(nibabel.Nifti1Image(marked, affine), tmp_path / "in" / "a" / f"{name}.nii.gz")
    data = mask_folder(tmp_path / "in", crop=(4, 4, 4))
    write_mask(tmp_path / "out.nii.gz", data.annotations.label[0], data.geometry[0])
    out = nibabel.load(tmp_path / "out.nii.gz")
    middle = [
        placing @ [*np.argwhere(np.asarray(image) == 1).mean(0), 1]
        for image, placing in ((out.dataobj, out.affine), (marked, affine))
    ]
    np.testing.assert_allclose(*middle)


@pytest.mark.skipif(not CELLS.is_dir(), reason="the real data sets are not beside this checkout")
@pytest.mark.parametrize(
    ("name", "images", "readers", "side"), [("ds1", 35, 10, 256), ("ds2a", 34, 10, 256), ("ds4", 61, 3, 160)]
)
def test_cells(name: str, images: int, readers: int, side: int) -> None:
    data = mask_folder(CELLS / name)
    assert data.images is not None
    assert data.images.shape == (images, 1, side, side)
    assert data.images.dtype == np.uint8
    assert len(data.readers) == readers
    assert data.annotations.size == images * readers
    assert data.classes == (0, 1)
    with Image.open(CELLS / name / str(data.names[3]) / f"{data.readers[1]}.png") as image:
        np.testing.assert_array_equal(data.annotations.matrix()[3, 1], np.asarray(image.convert("L")) > 127)
