from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.data.exchange import ExchangeError, read_cvat, read_cvat_masks

META = """<version>1.1</version><meta><task><labels>
<label><name>vessel</name><type>any</type></label><label><name>cell</name><type>mask</type></label>
<label><name>blurred</name><type>tag</type></label></labels></task></meta>"""


def export(folder: Path, images: str, name: str = "ann", meta: str = META) -> Path:
    path = folder / f"{name}.xml"
    path.write_text(f'<?xml version="1.0" encoding="utf-8"?><annotations>{meta}{images}</annotations>')
    return path


def image(inner: str, name: str = "a.png", width: object = 4, height: object = 3) -> str:
    return f'<image id="0" name="{name}" width="{width}" height="{height}">{inner}</image>'


def test_tags_of_several_annotators(tmp_path: Path) -> None:
    ann = export(tmp_path, image('<tag label="cat" source="manual"/>') + image('<tag label="dog"/>', "b.png"))
    eve = export(tmp_path, image('<tag label="dog"/>') + image("", "b.png"), "eve")
    annotations = read_cvat([ann, eve])
    assert annotations.examples.tolist() == ["a.png", "b.png"]
    assert annotations.matrix().tolist() == [[0, 1], [1, -1]]


def test_shapes_become_masks(tmp_path: Path) -> None:
    mask = '<mask label="cell" source="manual" occluded="0" rle="1, 2, 1" left="1" top="1" width="2" height="2"/>'
    polygon = '<polygon label="vessel" points="0.00,0.00;4.00,0.00;4.00,1.00;0.00,1.00" z_order="{}"/>'
    wide = '<mask label="cell" rle="0, 8" left="0" top="0" width="4" height="2" z_order="1"/>'
    ann = export(tmp_path, image(mask + polygon.format(0)) + image("", "b.png"))
    eve = export(tmp_path, image(wide + polygon.format(-2)), "eve")
    drawn = read_cvat_masks([ann, eve])
    assert drawn.classes == ("background", "vessel", "cell"), "in the order of the task, without tags"
    masks = {(one.image, one.reader): one.mask.tolist() for one in drawn}
    assert masks["a.png", "ann"] == [[1, 1, 1, 1], [0, 0, 2, 0], [0, 2, 0, 0]]
    assert masks["a.png", "eve"] == [[2] * 4, [2] * 4, [0] * 4], "the higher one covers the lower"
    assert masks["b.png", "ann"] == np.zeros((3, 4), int).tolist()


@pytest.mark.parametrize(
    ("inner", "message"),
    [
        ('<tag label="a"/><tag label="b"/>', "image 1 of ann.xml has 2 tags, not one: keep one of them"),
        ("<tag/>", "a tag of image 1 of ann.xml has no 'label'"),
        ("", "ann.xml holds no tags"),
    ],
)
def test_tags_that_cannot_be_used(tmp_path: Path, inner: str, message: str) -> None:
    with pytest.raises(ExchangeError, match=message):
        read_cvat(export(tmp_path, image(inner)))


BOX = 'left="1" top="1" width="2" height="2"'


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (image(f'<mask label="a" rle="1, 9" {BOX}/>'), "a shape of image 1 of ann.xml is damaged .* cover 10 pixels"),
        (image('<mask label="a" rle="4" left="3" top="0" width="2" height="2"/>'), "box ends at 5 x 2, outside 4 x 3"),
        (image(f'<mask label="a" rle="1, x" {BOX}/>'), "'rle' of a shape .* is no list of whole numbers"),
        (
            image('<mask label="a" rle="1" left="-1" top="1" width="1" height="1"/>'),
            "'left' of .* is '-1', not a",
        ),
        (image('<polygon label="a" points="1,2;3"/>'), "'points' of .* has '3', not x,y"),
        (image('<polygon label="a" points="1,2;3,inf;1,1"/>'), "which is no coordinate"),
        (image('<polygon label="a" points="1,2;3,3"/>'), "has 2 corners"),
        (image('<polygon points="1,2;3,3;0,0"/>'), "has no 'label'"),
        (image("", width=10**8, height=10**8), "is absurdly large"),
        (image("", width="x"), "'width' of image 1 of ann.xml is 'x', not a whole number"),
        (image("", name="../../a.png"), "leads out of the data folder"),
        (image("", name=""), "has no 'name'"),
        (image(""), "ann.xml holds no polygons or masks"),
        ('<track id="0"/>', "holds tracks of a video: export it as 'CVAT for images 1.1'"),
    ],
)
def test_damage_says_where(tmp_path: Path, images: str, message: str) -> None:
    with pytest.raises(ExchangeError, match=message):
        list(read_cvat_masks(export(tmp_path, images)))


def test_other_documents_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.xml"
    path.write_text("<html/>")
    with pytest.raises(ExchangeError, match="a.xml begins with <html>, not <annotations>: is it from CVAT"):
        read_cvat(path)
    path.write_text('<!DOCTYPE a [<!ENTITY b "c">]><annotations/>')
    for read in (read_cvat, read_cvat_masks):
        with pytest.raises(ExchangeError, match="has a DOCTYPE"):
            read(path)
