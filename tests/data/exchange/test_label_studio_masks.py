from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel.data.exchange import ExchangeError, read_label_studio_masks
from truelabel.data.exchange.brush import encode_brush

SIZE = {"original_width": 4, "original_height": 3}


def brush(mask: Any, label: str = "cell", **other: Any) -> dict[str, Any]:
    value = {"format": "rle", "rle": encode_brush(np.asarray(mask, bool)), "brushlabels": [label]}
    return {"type": "brushlabels", "value": value, **SIZE, **other}


def polygon(points: Any, label: str = "vessel") -> dict[str, Any]:
    return {"type": "polygonlabels", "value": {"points": points, "polygonlabels": [label]}, **SIZE}


def export(folder: Path, **said: list[Any]) -> Path:
    annotations = [{"completed_by": who, "result": results} for who, results in said.items()]
    path = folder / "export.json"
    path.write_text(json.dumps([{"id": 1, "data": {"image": "a.png"}, "annotations": annotations}]))
    return path


def test_brush_and_polygon_become_one_mask(tmp_path: Path) -> None:
    mask = np.zeros((3, 4), bool)
    mask[0] = True
    points = [[50, 0], [100, 0], [100, 100], [50, 100]]
    drawn = read_label_studio_masks(export(tmp_path, ann=[brush(mask), polygon(points)], eve=[]))
    assert drawn.classes == ("background", "cell", "vessel")
    masks = {(one.image, one.reader): one.mask.tolist() for one in drawn}
    assert masks["a.png", "ann"] == [[1, 1, 2, 2], [0, 0, 2, 2], [0, 0, 2, 2]]
    assert masks["a.png", "eve"] == [[0] * 4] * 3, "who drew nothing saw nothing"


def test_other_shapes_are_left_out_with_a_warning(tmp_path: Path) -> None:
    box = {"type": "rectanglelabels", "value": {"x": 1, "rectanglelabels": ["cell"]}, **SIZE}
    path = export(tmp_path, ann=[brush(np.ones((3, 4))), box, {"type": "choices"}], eve=[box])
    with pytest.warns(UserWarning, match="shapes of type rectanglelabels are left out"):
        drawn = read_label_studio_masks(path)
    assert drawn.readers == ["ann"], "what was left out is not nothing"


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (brush(np.ones((3, 5))), "annotation 1 of task 1 of export.json is damaged .its brush strokes hold 60 values"),
        (brush(np.ones((3, 4)), original_width=10**6, original_height=10**6), "is absurdly large"),
        (brush(np.ones((3, 4)), image_rotation=90), "is on a picture that was turned"),
        (brush(np.ones((3, 4)), original_width=None), "has no 'original_width'"),
        (polygon([[0, 0], [1, 1]]), "its polygon has 2 corners"),
        (polygon([[0, 0], [1]]), "a point of annotation 1 .* has 1 numbers, not two"),
        (polygon([[0, 0], [1, "x"]]), "a coordinate of annotation 1 .* is 'x', not a coordinate"),
        ({"type": "brushlabels", "value": {"rle": [1], "brushlabels": ["a", "b"]}, **SIZE}, "has 2 classes, not one"),
        ({"type": "brushlabels", "value": {"rle": ["x"], "brushlabels": ["a"]}, **SIZE}, "no list of bytes"),
        ({"type": "brushlabels", "value": {"rle": [1]}, **SIZE}, "the class of a shape of .* is null, not a list"),
    ],
)
def test_damage_says_where(tmp_path: Path, result: dict[str, Any], message: str) -> None:
    with pytest.raises(ExchangeError, match=message):
        list(read_label_studio_masks(export(tmp_path, ann=[result])))


def test_pictures_of_two_sizes_and_no_shapes_at_all(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match="on pictures of several sizes"):
        read_label_studio_masks(export(tmp_path, ann=[brush(np.ones((3, 4))), brush([[1]], original_width=1)]))
    with pytest.raises(ExchangeError, match="export.json holds no masks"):
        read_label_studio_masks(export(tmp_path, ann=[]))
