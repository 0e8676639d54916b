"""Label Studio's JSON export of masks, by brush and by polygon."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from truelabel.data.exchange.brush import decode_brush
from truelabel.data.exchange.drawn import Drawn, Region, Sheet, gather, picture_size
from truelabel.data.exchange.entries import ExchangeError, Paths, as_list, as_number, entry, several
from truelabel.data.exchange.label_studio_export import Finished, finished_tasks, value_of
from truelabel.data.exchange.polygons import fill_polygon

IGNORED = ("choices", "relation", "textarea", "rating", "number", "datetime", "taxonomy")
"""Kinds of results that are no shapes."""


def read_label_studio_masks(paths: Paths, *, example: str | None = None) -> Drawn:
    """Read masks from Label Studio's JSON export: brush strokes (its packed run lengths) and polygons.

    Results are ``{"type": "brushlabels", "original_width": W, "original_height": H, "value": {"format": "rle", "rle":
    […], "brushlabels": ["cell"]}}``, or ``"polygonlabels"`` with ``points`` in percent of the picture. Other shapes
    are left out with a warning. Who drew nothing on a picture that others drew on says that there is nothing.

    Args:
        paths: one file or several.
        example: the field of a task's ``data`` that names the picture, as in
            :func:`~truelabel.data.exchange.label_studio.read_label_studio`.

    Raises:
        ExchangeError: if an entry is damaged; the message says which. Shapes are looked at when masks are made.

    Example:
        >>> import json, pathlib, tempfile
        >>> import numpy as np
        >>> from truelabel.data.exchange.brush import encode_brush
        >>> value = {"format": "rle", "rle": encode_brush(np.eye(3, dtype=bool)), "brushlabels": ["cell"]}
        >>> result = {"type": "brushlabels", "original_width": 3, "original_height": 3, "value": value}
        >>> task = {"id": 1, "data": {"image": "a.png"}, "annotations": [{"completed_by": 4, "result": [result]}]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "export.json")
        ...     _ = path.write_text(json.dumps([task]))
        ...     drawn = read_label_studio_masks(path)
        >>> [(image, reader, mask.tolist()) for image, reader, mask in drawn]
        [('a.png', '4', [[1, 0, 0], [0, 1, 0], [0, 0, 1]])]
    """
    files = several(paths)
    sheets, empty, unknown = list[Sheet](), list[Finished](), set[str]()
    for finished in finished_tasks(paths, example):
        shapes = [result for result in finished.results if result.get("type") not in IGNORED]
        drawn = [result for result in shapes if _is_drawn(result)]
        unknown |= {str(result.get("type"))[:40] for result in shapes if not _is_drawn(result)}
        if not drawn:
            empty += [finished] if not shapes else []
            continue
        sizes = {_size(result, finished.where) for result in drawn}
        if len(sizes) > 1:
            raise ExchangeError(f"{finished.where} has shapes on pictures of several sizes: export it again")
        regions = tuple(_region(result, finished.where) for result in drawn)
        sheets.append(Sheet(str(finished.example), finished.annotator, sizes.pop(), regions))
    # Who drew nothing says so, but not how large the picture is: somebody else's shapes tell.
    size_of = {sheet.image: sheet.size for sheet in sheets}
    nothing = [(str(one.example), one.annotator) for one in empty if str(one.example) in size_of]
    sheets += [Sheet(image, reader, size_of[image], ()) for image, reader in nothing]
    if unknown:
        warnings.warn(f"shapes of type {', '.join(sorted(unknown))} are left out", UserWarning, stacklevel=2)
    return gather(sheets, source=files[0].name)


def _is_drawn(result: dict[str, Any]) -> bool:
    return not {"rle", "points"}.isdisjoint(value_of(result))


def _size(result: dict[str, Any], where: str) -> tuple[int, int]:
    if result.get("image_rotation"):
        raise ExchangeError(f"{where} is on a picture that was turned: turn it back, and draw again")
    return picture_size(entry(result, "original_height", where), entry(result, "original_width", where), where)


def _region(result: dict[str, Any], where: str) -> Region:
    value = value_of(result)
    labels = next((value[key] for key in ("brushlabels", "polygonlabels", "labels") if key in value), None)
    labels = as_list(labels, f"the class of a shape of {where}")
    if len(labels) != 1 or not isinstance(labels[0], str):
        raise ExchangeError(f"a shape of {where} has {len(labels)} classes, not one: give it one")
    if "rle" in value:
        code = as_list(value["rle"], f"'rle' of {where}")
        return Region(labels[0], partial(_brush, code), where)
    points = [_percent(point, where) for point in as_list(value["points"], f"'points' of {where}")]
    return Region(labels[0], partial(_polygon, points), where)


def _brush(code: list[Any], height: int, width: int) -> Any:
    if not all(isinstance(byte, int) and 0 <= byte < 256 for byte in code):
        raise ValueError("its brush strokes are no list of bytes")
    return decode_brush(code, height, width)


def _percent(point: Any, where: str) -> tuple[float, float]:
    pair = as_list(point, f"a point of {where}")
    if len(pair) != 2:
        raise ExchangeError(f"a point of {where} has {len(pair)} numbers, not two: export it again")
    x, y = (as_number(number, f"a coordinate of {where}") / 100 for number in pair)
    return x, y


def _polygon(points: list[tuple[float, float]], height: int, width: int) -> Any:
    return fill_polygon([(x * width, y * height) for x, y in points], height, width)
