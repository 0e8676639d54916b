"""COCO's JSON for masks: polygons and run lengths; one file a reader."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.atomic import write_atomically
from truelabel.data.exchange.coco_text import runs_from_text, text_from_runs
from truelabel.data.exchange.drawn import Drawn, DrawnMask, Region, Sheet, gather, picture_size
from truelabel.data.exchange.entries import (
    ExchangeError,
    Paths,
    as_list,
    as_number,
    as_object,
    as_whole,
    entry,
    read_json,
    several,
)
from truelabel.data.exchange.names import safe_name, stems
from truelabel.data.exchange.polygons import fill_polygon
from truelabel.data.exchange.run_lengths import decode_runs, encode_runs


def read_coco(paths: Paths) -> Drawn:
    """Read masks from COCO's JSON, one file a reader, who is called like it.

    The layout is ``{"images": [{"id", "file_name", "height", "width"}], "categories": [{"id", "name"}], "annotations":
    [{"image_id", "category_id", "segmentation"}]}``. A segmentation is a list of polygons ``[x1, y1, x2, …]``, or
    ``{"size": [H, W], "counts": …}`` with lengths down the columns, as a list or as COCO's compressed text. A picture
    without annotations is one where the reader saw nothing. Classes are in the order of their ids.

    Args:
        paths: one file or several.

    Raises:
        ExchangeError: if an entry is damaged; the message says which. Shapes are looked at when masks are made.

    Example:
        >>> import tempfile
        >>> shape = {"size": [2, 3], "counts": [1, 2, 3]}
        >>> content = {
        ...     "images": [{"id": 1, "file_name": "a.png", "height": 2, "width": 3}],
        ...     "categories": [{"id": 5, "name": "cell"}],
        ...     "annotations": [{"image_id": 1, "category_id": 5, "segmentation": shape}],
        ... }
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "ann.json")
        ...     _ = path.write_text(json.dumps(content))
        ...     [drawn.mask.tolist() for drawn in read_coco(path)]
        [[[0, 1, 0], [1, 0, 0]]]
    """
    files = several(paths)
    sheets, classes = list[Sheet](), dict[str, None]()
    for file, reader in zip(files, stems(files), strict=True):
        content = as_object(read_json(file), file.name)
        names = _categories(content, file.name)
        classes |= dict.fromkeys(names[number] for number in sorted(names))
        sheets += _sheets(content, names, file.name, reader)
    return gather(sheets, list(classes), source=files[0].name)


def write_coco(masks: Iterable[DrawnMask], classes: Sequence[str | int], folder: str | os.PathLike[str]) -> list[Path]:
    """Write masks as COCO's JSON, a file for each reader: one annotation for each class that a mask holds.

    Args:
        masks: :class:`Drawn`, or any ``(image, reader, mask (H, W))`` with positions in ``classes``.
        classes: K names; the first is the background, which COCO has no entry for.
        folder: made if it is not there; each file appears whole or not at all.

    Returns:
        The files.

    Raises:
        ExchangeError: if a mask has pixels without label, which COCO cannot say, or is a volume.

    Example:
        >>> import tempfile
        >>> masks = [DrawnMask("a.png", "ann", np.array([[0, 1], [2, 2]]))]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = write_coco(masks, ["background", "cell", "vessel"], folder)
        ...     [(drawn.reader, drawn.mask.tolist()) for drawn in read_coco(files)]
        [('ann', [[0, 1], [2, 2]])]
    """
    categories = [{"id": code, "name": str(name)} for code, name in enumerate(classes) if code]
    contents: dict[str, dict[str, list[Any]]] = {}
    for image, reader, mask in masks:
        where = f"the mask of {image!r} by {reader!r}"
        if mask.ndim != 2:
            raise ExchangeError(f"{where} is a volume, and COCO has pictures only: export its slices")
        if mask.min(initial=0) < 0:
            raise ExchangeError(f"{where} has pixels without label, which COCO cannot say: give them a class first")
        content = contents.setdefault(reader, {"images": [], "categories": categories, "annotations": []})
        number = len(content["images"]) + 1
        height, width = mask.shape
        content["images"].append({"id": number, "file_name": image, "height": height, "width": width})
        for code in np.unique(mask[mask > 0]).tolist():
            content["annotations"].append(
                {"id": len(content["annotations"]) + 1, "image_id": number, "category_id": code} | _shape(mask == code)
            )
    files = [Path(folder) / f"{_file_name(reader)}.json" for reader in contents]
    if len(set(files)) < len(files):
        raise ExchangeError(f"two readers would be written to one file, among {', '.join(contents)}: rename one")
    for file, content in zip(files, contents.values(), strict=True):
        write_atomically(file, json.dumps(content, ensure_ascii=False).encode())
    return files


def _shape(pixels: NDArray[np.bool_]) -> dict[str, Any]:
    rows, columns = np.flatnonzero(pixels.any(1)), np.flatnonzero(pixels.any(0))
    left, top = int(columns[0]), int(rows[0])
    return {
        "segmentation": {"size": list(pixels.shape), "counts": text_from_runs(encode_runs(pixels.T.ravel()))},
        "bbox": [left, top, int(columns[-1]) - left + 1, int(rows[-1]) - top + 1],
        "area": int(pixels.sum()),
        "iscrowd": 0,
    }


def _file_name(reader: str) -> str:
    return safe_name(reader, "a reader").replace("/", "_").replace("\\", "_")


def _categories(content: dict[str, Any], source: str) -> dict[int, str]:
    names: dict[int, str] = {}
    for number, value in enumerate(as_list(entry(content, "categories", source), f"'categories' of {source}"), 1):
        where = f"category {number} of {source}"
        category = as_object(value, where)
        name = entry(category, "name", where)
        if not isinstance(name, str) or not name:
            raise ExchangeError(f"'name' of {where} is no text: export it again")
        names[as_whole(entry(category, "id", where), f"'id' of {where}")] = name
    return names


def _sheets(content: dict[str, Any], names: dict[int, str], source: str, reader: str) -> Iterator[Sheet]:
    shapes: dict[int, list[Region]] = {}
    for number, value in enumerate(as_list(content.get("annotations") or [], f"'annotations' of {source}"), 1):
        where = f"annotation {number} of {source}"
        annotation = as_object(value, where)
        category = as_whole(entry(annotation, "category_id", where), f"'category_id' of {where}")
        if category not in names:
            raise ExchangeError(f"{where} has category {category}, which 'categories' do not name: export it again")
        region = Region(names[category], _pixels(entry(annotation, "segmentation", where), where), where)
        of = as_whole(entry(annotation, "image_id", where), f"'image_id' of {where}")
        shapes.setdefault(of, []).append(region)
    for number, value in enumerate(as_list(entry(content, "images", source), f"'images' of {source}"), 1):
        where = f"image {number} of {source}"
        image = as_object(value, where)
        name = entry(image, "file_name", where)
        if not isinstance(name, str):
            raise ExchangeError(f"'file_name' of {where} is no text: export it again")
        size = picture_size(image.get("height"), image.get("width"), where)
        regions = shapes.pop(as_whole(entry(image, "id", where), f"'id' of {where}"), [])
        yield Sheet(safe_name(name, where), reader, size, tuple(regions))
    if shapes:
        raise ExchangeError(f"an annotation of {source} is of image {min(shapes)}, which is not there: export it again")


def _pixels(segmentation: Any, where: str) -> Any:
    if isinstance(segmentation, list):
        polygons = [_points(polygon, where) for polygon in segmentation]
        if not polygons:
            raise ExchangeError(f"{where} has an empty segmentation: export it again, or remove it")
        return partial(_union, polygons)
    code = as_object(segmentation, f"'segmentation' of {where}")
    size = [as_whole(n, f"'size' of {where}") for n in as_list(entry(code, "size", where), f"'size' of {where}")]
    counts = entry(code, "counts", where)
    if not isinstance(counts, str):
        counts = [as_whole(count, f"'counts' of {where}") for count in as_list(counts, f"'counts' of {where}")]
    return partial(_columns, counts, size)


def _points(polygon: Any, where: str) -> list[tuple[float, float]]:
    numbers = [as_number(n, f"a coordinate of {where}") for n in as_list(polygon, f"a polygon of {where}")]
    if len(numbers) % 2:
        raise ExchangeError(f"a polygon of {where} has {len(numbers)} numbers, not pairs: export it again")
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _union(polygons: list[list[tuple[float, float]]], height: int, width: int) -> NDArray[np.bool_]:
    mask = np.zeros((height, width), bool)
    for points in polygons:
        mask |= fill_polygon(points, height, width)
    return mask


def _columns(counts: str | list[int], size: list[int], height: int, width: int) -> NDArray[np.bool_]:
    if size != [height, width]:
        raise ValueError(f"it is of {' x '.join(map(str, size))} pixels, but the picture is {height} x {width}")
    runs = runs_from_text(counts) if isinstance(counts, str) else counts
    return decode_runs(runs, height * width).reshape(width, height).T
