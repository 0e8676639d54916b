from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truelabel.data.exchange import Drawn, DrawnMask, ExchangeError, read_coco, write_coco

MASK = np.array([[1, 0, 0, 0, 1], [0, 0, 0, 0, 0], [1, 0, 1, 0, 1]])


def content(segmentation: Any = None, **other: Any) -> dict[str, Any]:
    shape = {"size": [3, 5], "counts": [0, 1, 1, 1, 5, 1, 3, 1, 1, 1]} if segmentation is None else segmentation
    return {
        "images": [{"id": 3, "file_name": "a.png", "height": 3, "width": 5}],
        "categories": [{"id": 9, "name": "cell"}, {"id": 2, "name": "vessel"}],
        "annotations": [{"id": 1, "image_id": 3, "category_id": 9, "segmentation": shape}],
        **other,
    }


def read(folder: Path, *contents: Any) -> Drawn:
    paths = [folder / f"reader{i}.json" for i in range(len(contents))]
    for path, one in zip(paths, contents, strict=True):
        path.write_text(json.dumps(one))
    return read_coco(paths)


def test_polygons_and_both_kinds_of_runs(tmp_path: Path) -> None:
    square = [[1, 1, 3, 1, 3, 3, 1, 3], [4, 0, 5, 0, 5, 1, 4, 1]]
    compressed = {"size": [3, 5], "counts": "01111OO040"}
    drawn = read(tmp_path, content(), content(square), content(compressed), content(annotations=[]))
    assert drawn.classes == ("background", "vessel", "cell"), "in the order of their ids"
    assert drawn.readers == ["reader0", "reader1", "reader2", "reader3"]
    masks = [one.mask for one in drawn]
    np.testing.assert_array_equal(masks[0], 2 * MASK)
    assert masks[1].tolist() == [[0, 0, 0, 0, 2], [0, 2, 2, 0, 0], [0, 2, 2, 0, 0]]
    # As pycocotools 2.0.11 decodes this text: pixels 0, 1, 2, 10, 12 and 14, row by row.
    assert np.flatnonzero(masks[2]).tolist() == [0, 1, 2, 10, 12, 14]
    assert not masks[3].any()


@given(masks=st.lists(arrays(np.int64, (3, 4), elements=st.integers(0, 2)), min_size=1, max_size=3))
def test_masks_come_back(masks: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("coco")
    given_masks = [DrawnMask(f"{i}.png", who, mask) for who in ("ann", "eve") for i, mask in enumerate(masks)]
    files = write_coco(given_masks, ["background", "cell", "vessel"], folder)
    assert [file.name for file in files] == ["ann.json", "eve.json"]
    back = read_coco(files)
    assert back.classes == ("background", "cell", "vessel")
    for expected, actual in zip(given_masks, back, strict=True):
        assert (expected.image, expected.reader) == (actual.image, actual.reader)
        np.testing.assert_array_equal(actual.mask, expected.mask)


def test_boxes_and_areas_are_right(tmp_path: Path) -> None:
    mask = np.zeros((4, 6), int)
    mask[1:3, 2:6] = 1
    (file,) = write_coco([DrawnMask("a.png", "ann", mask)], ["background", "cell"], tmp_path)
    (annotation,) = json.loads(file.read_text())["annotations"]
    assert (annotation["bbox"], annotation["area"], annotation["iscrowd"]) == ([2, 1, 4, 2], 8, 0)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        ([], "reader0.json is a list, not an object"),
        ({}, "reader0.json has no 'categories'"),
        (content(images=None), "reader0.json has no 'images'"),
        (content(images=[{"id": 3, "file_name": "../a", "height": 1, "width": 1}]), "leads out of the data folder"),
        (content(images=[{"id": 3, "file_name": "C:\\a", "height": 1, "width": 1}]), "leads out of the data folder"),
        (content(images=[{"id": 3, "file_name": "a", "height": 10**6, "width": 10**6}]), "is absurdly large"),
        (content(images=[{"id": 3, "file_name": 5, "height": 1, "width": 1}]), "'file_name' of image 1 .* is no text"),
        (content(images=[]), "an annotation of reader0.json is of image 3, which is not there"),
        (content(categories=[{"id": 1, "name": "x"}]), "annotation 1 of reader0.json has category 9, which"),
        (content(categories=[{"id": 1, "name": ""}]), "'name' of category 1 of reader0.json is no text"),
        (content({"size": [3, 5], "counts": [16]}), r"annotation 1 of reader0.json is damaged \(its runs cover 16"),
        (content({"size": [300, 500], "counts": [150000]}), "it is of 300 x 500 pixels, but the picture is 3 x 5"),
        (content({"size": [3, 5], "counts": "01!"}), "its compressed runs are damaged"),
        (content({"size": [3, 5], "counts": "oooooooonnnn0"}), "damaged"),
        (content({"size": [3, 5], "counts": [-1, 16]}), "'counts' of annotation 1 .* is -1, not a whole number"),
        (content({"size": [3, 5]}), "annotation 1 of reader0.json has no 'counts'"),
        (content([]), "has an empty segmentation"),
        (content([[1, 2, 3]]), "a polygon of annotation 1 .* has 3 numbers, not pairs"),
        (content([[1, 2, 3, 4]]), "has 2 corners"),
        (content("x"), "'segmentation' of annotation 1 of reader0.json is text, not an object"),
    ],
)
def test_damage_says_where(tmp_path: Path, one: Any, message: str) -> None:
    with pytest.raises(ExchangeError, match=message):
        list(read(tmp_path, one))


def test_what_coco_cannot_say_is_refused(tmp_path: Path) -> None:
    for mask, message in (
        (np.array([[0, -1]]), "has pixels without label, which COCO cannot say"),
        (np.zeros((2, 2, 2), int), "is a volume"),
    ):
        with pytest.raises(ExchangeError, match=message):
            write_coco([DrawnMask("a", "ann", mask)], ["background", "cell"], tmp_path)
    same = [DrawnMask("a", "x/y", np.zeros((1, 1), int)), DrawnMask("a", "x_y", np.zeros((1, 1), int))]
    with pytest.raises(ExchangeError, match="two readers would be written to one file"):
        write_coco(same, ["background", "cell"], tmp_path)
    assert not list(tmp_path.iterdir())
