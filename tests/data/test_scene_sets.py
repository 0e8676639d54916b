from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.data import MissingDataError, cityscapes, pascal_voc, write_mask

RNG = np.random.default_rng(0)


def picture(path: Path, shape: tuple[int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(RNG.integers(0, 256, (*shape, 3), np.uint8)).save(path)


@pytest.fixture
def things(tmp_path: Path) -> Path:
    top = tmp_path / "VOCdevkit" / "VOC2012"
    for name, shape in (("2007_000032", (6, 8)), ("2007_000033", (7, 5)), ("2007_000039", (6, 8))):
        picture(top / "JPEGImages" / f"{name}.jpg", shape)
        mask = np.full(shape, 0)
        mask[1:4, 1:4] = 20
        mask[0] = 255
        write_mask(top / "SegmentationClass" / f"{name}.png", mask)
    lists = top / "ImageSets" / "Segmentation"
    lists.mkdir(parents=True)
    (lists / "train.txt").write_text("2007_000039\n2007_000032\n")
    (lists / "val.txt").write_text("2007_000033\n2007_000032\n")
    return tmp_path


def test_pascal_voc(things: Path) -> None:
    for root in (things, things / "VOCdevkit" / "VOC2012"):
        data = pascal_voc("train", root)
        assert data.names.tolist() == ["2007_000039", "2007_000032"]
        assert data.images is not None
        assert data.images.shape == (2, 3, 6, 8)
        assert data.images.dtype == np.uint8
        assert data.readers.tolist() == ["truth"]
        assert len(data.classes) == 21
        assert (data.classes[0], data.classes[15], data.classes[20]) == ("background", "person", "tvmonitor")
        mask = data.annotations.label[0]
        assert (mask[0] == -1).all()
        assert (mask[1:4, 1:4] == 20).all()
        assert mask[5, 7] == 0


def test_pascal_voc_of_many_sizes(things: Path) -> None:
    with pytest.raises(ValueError, match=r"2007_000032.jpg is 6 x 8 but .*2007_000033.jpg is 7 x 5: pass size="):
        pascal_voc("val", things)
    data = pascal_voc("val", things, crop=(8, 8))
    assert data.images is not None
    assert data.images.shape == (2, 3, 8, 8)
    assert (data.annotations.label[0][:, 0] == -1).all()
    assert pascal_voc("val", things, size=(4, 4)).annotations.space == (4, 4)


def test_pascal_voc_that_is_missing(things: Path) -> None:
    with pytest.raises(MissingDataError, match=r"expected ImageSets/Segmentation/trainval.txt"):
        pascal_voc("trainval", things)
    (things / "VOCdevkit/VOC2012/SegmentationClass/2007_000032.png").unlink()
    with pytest.raises(MissingDataError, match=r"expected SegmentationClass/2007_000032.png; "):
        pascal_voc("train", things)
    with pytest.raises(ValueError, match="split 'test' is unknown"):
        pascal_voc("test", things)  # type: ignore[arg-type]


# The train id of each label id, as the benchmark's own table has them.
TRAIN_ID = {7: 0, 8: 1, 11: 2, 12: 3, 13: 4, 17: 5, 19: 6, 20: 7, 21: 8, 22: 9, 23: 10, 24: 11, 25: 12, 26: 13,
            27: 14, 28: 15, 31: 16, 32: 17, 33: 18}  # fmt: skip


def test_cityscapes(tmp_path: Path) -> None:
    names = ["aachen_000000_000019", "bochum_000000_000885"]
    ids = np.append(np.arange(35), 255).reshape(6, 6)
    for name in names:
        city = name.split("_")[0]
        picture(tmp_path / "leftImg8bit" / "train" / city / f"{name}_leftImg8bit.png", (6, 6))
        write_mask(tmp_path / "gtFine" / "train" / city / f"{name}_gtFine_labelIds.png", ids)
    data = cityscapes("train", tmp_path)
    assert data.names.tolist() == names
    assert len(data.classes) == 19
    assert (data.classes[0], data.classes[13], data.classes[18]) == ("road", "car", "bicycle")
    expected = [[TRAIN_ID.get(int(i), -1) for i in row] for row in ids]
    for mask in data.annotations.label:
        np.testing.assert_array_equal(mask, expected)
    assert cityscapes("train", tmp_path, size=(3, 3)).annotations.space == (3, 3)
    with pytest.raises(MissingDataError, match=r"expected leftImg8bit/val/<city>/\*_leftImg8bit.png"):
        cityscapes("val", tmp_path)
    (tmp_path / f"gtFine/train/bochum/{names[1]}_gtFine_labelIds.png").unlink()
    with pytest.raises(MissingDataError, match=f"expected gtFine/train/bochum/{names[1]}_gtFine_labelIds.png"):
        cityscapes("train", tmp_path)
    with pytest.raises(ValueError, match="split 'test' is unknown"):
        cityscapes("test", tmp_path)  # type: ignore[arg-type]
