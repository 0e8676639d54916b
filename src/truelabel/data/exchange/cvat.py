"""CVAT's XML, "CVAT for images 1.1": tags, polygons and masks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element

import numpy as np
from numpy.typing import NDArray

from truelabel.data.exchange.drawn import Drawn, Region, Sheet, gather, picture_size
from truelabel.data.exchange.entries import ExchangeError, Paths, several
from truelabel.data.exchange.names import safe_name, stems
from truelabel.data.exchange.plain_xml import parse_xml
from truelabel.data.exchange.polygons import fill_polygon
from truelabel.data.exchange.run_lengths import decode_runs

if TYPE_CHECKING:
    from truelabel.annotations import Annotations


def read_cvat(paths: Paths, *, classes: Sequence[str] | None = None) -> Annotations:
    """Read the tags of whole pictures from CVAT's XML, one file an annotator, who is called like it.

    The layout is ``<annotations> <image name="a.png" width="64" height="48"> <tag label="cat"/> </image> …``. Pictures
    without tag are left out.

    Args:
        paths: one file or several.
        classes: all classes in order; those found, sorted, by default.

    Raises:
        ExchangeError: if a picture is damaged or has several tags; the message says which.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for who, what in (("ann", "cat"), ("eve", "dog")):
        ...         text = f'<annotations><image name="a.png"><tag label="{what}"/></image></annotations>'
        ...         _ = Path(folder, f"{who}.xml").write_text(text)
        ...     read_cvat(sorted(Path(folder).iterdir())).matrix().tolist()
        [[0, 1]]
    """
    from truelabel.annotations import Annotations

    files = several(paths)
    rows: list[tuple[str, str, str]] = []
    for file, annotator in zip(files, stems(files), strict=True):
        for where, image in _images(_root(file), file):
            tags = [_attribute(tag, "label", f"a tag of {where}") for tag in image.iter("tag")]
            if len(tags) > 1:
                raise ExchangeError(f"{where} has {len(tags)} tags, not one: keep one of them")
            rows += [(_name(image, where), annotator, tag) for tag in tags]
    if not rows:
        raise ExchangeError(f"{files[0].name} holds no tags: are these masks, or not annotated yet?")
    examples, annotators, labels = map(list, zip(*rows, strict=True))
    return Annotations.from_table({"example": examples, "annotator": annotators, "label": labels}, classes=classes)


def read_cvat_masks(paths: Paths) -> Drawn:
    """Read polygons and masks from CVAT's XML, one file a reader, who is called like it.

    Shapes are ``<polygon label="cell" points="1,1;4,1;4,4" z_order="0"/>`` and ``<mask label="cell" rle="1, 2, 1"
    left="3" top="5" width="2" height="2"/>``, whose lengths run row by row in the box. Those with a higher ``z_order``
    cover others. A picture without shapes is one where the reader saw nothing. Classes are in the order of the task.

    Args:
        paths: one file or several.

    Example:
        >>> import tempfile
        >>> shape = '<mask label="cell" rle="0, 1, 1, 2" left="1" top="0" width="2" height="2"/>'
        >>> text = f'<annotations><image name="a.png" width="3" height="2">{shape}</image></annotations>'
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "ann.xml")
        ...     _ = path.write_text(text)
        ...     [drawn.mask.tolist() for drawn in read_cvat_masks(path)]
        [[[0, 1, 0], [0, 1, 1]]]
    """
    files = several(paths)
    sheets, classes = list[Sheet](), dict[str, None]()
    for file, reader in zip(files, stems(files), strict=True):
        root = _root(file)
        for where, image in _images(root, file):
            size = picture_size(_whole(image, "height", where), _whole(image, "width", where), where)
            shapes = [shape for shape in image if shape.tag in ("polygon", "mask")]
            regions = sorted(shapes, key=_order)
            drawn = tuple(_region(shape, f"a shape of {where}") for shape in regions)
            sheets.append(Sheet(_name(image, where), reader, size, drawn))
        classes |= dict.fromkeys(_labels(root))
    drawn_names = {region.label for sheet in sheets for region in sheet.regions}
    if not drawn_names:
        raise ExchangeError(f"{files[0].name} holds no polygons or masks: are these tags, or not annotated yet?")
    return gather(sheets, list(classes), source=files[0].name)


def _root(file: Path) -> Element:
    root = parse_xml(file.read_bytes(), file.name)
    if root.tag != "annotations":
        raise ExchangeError(f"{file.name} begins with <{root.tag[:40]}>, not <annotations>: is it from CVAT?")
    if root.find("track") is not None:
        raise ExchangeError(f"{file.name} holds tracks of a video: export it as 'CVAT for images 1.1'")
    return root


def _images(root: Element, file: Path) -> Iterator[tuple[str, Element]]:
    for number, image in enumerate(root.findall("image"), 1):
        yield f"image {number} of {file.name}", image


def _labels(root: Element) -> list[str]:
    """Classes of the task or project, for shapes; those for tags are none."""
    labels = [label for label in root.iter("label") if label.findtext("type") in (None, "any", "mask", "polygon")]
    return [name for label in labels if (name := label.findtext("name"))]


def _name(image: Element, where: str) -> str:
    return safe_name(_attribute(image, "name", where), where)


def _attribute(element: Element, key: str, where: str) -> str:
    value = element.get(key)
    if not value:
        raise ExchangeError(f"{where} has no {key!r}: export it again")
    return value


def _whole(element: Element, key: str, where: str) -> int:
    text = _attribute(element, key, where)
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ExchangeError(f"{key!r} of {where} is {ascii(text)[:40]}, not a whole number: export it again")
    return int(text)


def _order(shape: Element) -> int:
    text = shape.get("z_order", "0")
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() and len(text) < 10 else 0


def _region(shape: Element, where: str) -> Region:
    label = _attribute(shape, "label", where)
    if shape.tag == "polygon":
        points = [_point(pair, where) for pair in _attribute(shape, "points", where).split(";")]
        return Region(label, partial(fill_polygon, points), where)
    runs = _attribute(shape, "rle", where).split(",")
    if not all(run.strip().isdecimal() and run.isascii() and len(run) < 15 for run in runs):
        raise ExchangeError(f"'rle' of {where} is no list of whole numbers: export it again")
    box = tuple(_whole(shape, key, where) for key in ("left", "top", "width", "height"))
    return Region(label, partial(_boxed, [int(run) for run in runs], box), where)


def _point(pair: str, where: str) -> tuple[float, float]:
    try:
        x, y = (float(number) for number in pair.split(","))
    except ValueError:
        raise ExchangeError(f"'points' of {where} has {ascii(pair)[:40]}, not x,y: export it again") from None
    if not (abs(x) < 1e9 and abs(y) < 1e9):
        raise ExchangeError(f"'points' of {where} has {ascii(pair)[:40]}, which is no coordinate: export it again")
    return x, y


def _boxed(runs: list[int], box: tuple[int, ...], height: int, width: int) -> NDArray[np.bool_]:
    left, top, w, h = box
    if left + w > width or top + h > height:
        raise ValueError(f"its box ends at {left + w} x {top + h}, outside {width} x {height}")
    mask = np.zeros((height, width), bool)
    mask[top : top + h, left : left + w] = decode_runs(runs, h * w).reshape(h, w)
    return mask
