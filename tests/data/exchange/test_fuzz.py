"""Whatever stands in a file, an importer gives labels, masks, or one line that says what is wrong."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from truelabel.data import exchange

READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "label-studio": (".json", exchange.read_label_studio),
    "label-studio masks": (".json", exchange.read_label_studio_masks),
    "doccano": (".jsonl", exchange.read_doccano),
    "cvat": (".xml", exchange.read_cvat),
    "cvat masks": (".xml", exchange.read_cvat_masks),
    "coco": (".json", exchange.read_coco),
    "crowd-kit": (".csv", exchange.read_crowd_kit),
    "peerannot": (".json", exchange.read_peerannot),
    "guess": (".json", lambda path: exchange.guess_tool([path])),
}

KEYS = st.sampled_from(
    [
        *("id", "data", "image", "example", "annotations", "completed_by", "email", "result", "type", "from_name"),
        *("value", "choices", "rle", "points", "brushlabels", "polygonlabels", "original_width", "original_height"),
        *("label", "labels", "user", "images", "categories", "name", "file_name", "height", "width", "image_id"),
        *("category_id", "segmentation", "size", "counts", "0", "was_cancelled", "image_rotation"),
    ]
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 5),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.sampled_from(["choices", "brushlabels", "a.png", "../x.png", "http://[a.png", "01111OO040", "C:\\x"]),
)
VALUES = st.recursive(
    LEAVES, lambda below: st.lists(below, max_size=4) | st.dictionaries(KEYS, below, max_size=6), max_leaves=25
)


def result() -> Any:
    """Something like a result of Label Studio, so that the fuzzing gets past the first check."""
    small = st.integers(0, 3) | LEAVES
    value = st.fixed_dictionaries(
        {},
        optional={
            "choices": VALUES,
            "rle": st.lists(st.integers(0, 255), max_size=12) | VALUES,
            "points": VALUES,
            "brushlabels": st.lists(st.text(max_size=3), max_size=2) | VALUES,
        },
    )
    return st.fixed_dictionaries(
        {"type": st.sampled_from(["choices", "brushlabels"]), "value": value},
        optional={"original_width": small, "original_height": small, "from_name": VALUES},
    )


TASKS = st.lists(
    st.fixed_dictionaries(
        {
            "id": LEAVES,
            "annotations": st.lists(
                st.fixed_dictionaries({"completed_by": LEAVES, "result": st.lists(result(), max_size=3)}), max_size=2
            ),
        }
    ),
    max_size=2,
)
COCO = st.fixed_dictionaries(
    {
        "images": st.lists(
            st.fixed_dictionaries(
                {"id": st.integers(0, 1), "file_name": LEAVES, "height": st.integers(0, 4), "width": st.integers(0, 4)}
            ),
            max_size=2,
        ),
        "categories": st.lists(st.fixed_dictionaries({"id": st.integers(0, 1), "name": LEAVES}), max_size=2),
        "annotations": st.lists(
            st.fixed_dictionaries(
                {
                    "image_id": st.integers(0, 1),
                    "category_id": st.integers(0, 1),
                    "segmentation": VALUES
                    | st.fixed_dictionaries(
                        {
                            "size": st.lists(st.integers(0, 4), max_size=3),
                            "counts": st.lists(st.integers(0, 9)) | st.text(st.characters(max_codepoint=127)) | VALUES,
                        }
                    ),
                }
            ),
            max_size=3,
        ),
    }
)


def check(name: str, content: bytes, folder: Path) -> None:
    ending, read = READERS[name]
    path = folder / f"file{ending}"
    path.write_bytes(content)
    said = "fine"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = read(path)
            for _ in found if isinstance(found, exchange.Drawn) else ():
                pass
    except (ValueError, OSError) as error:
        said = str(error)
    assert said
    assert "\n" not in said


FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("name", READERS)
@FUZZ
@given(content=st.binary(max_size=200))
def test_any_bytes(name: str, content: bytes, tmp_path: Path) -> None:
    check(name, content, tmp_path)


@pytest.mark.parametrize("name", [name for name, (ending, _) in READERS.items() if ending in (".json", ".jsonl")])
@FUZZ
@given(value=VALUES | TASKS | COCO | st.dictionaries(st.text(max_size=3), st.dictionaries(st.text(max_size=3), LEAVES)))
def test_any_json(name: str, value: Any, tmp_path: Path) -> None:
    check(name, json.dumps(value).encode(), tmp_path)


@pytest.mark.parametrize("name", ["label-studio", "label-studio masks"])
@FUZZ
@given(tasks=TASKS)
def test_any_tasks(name: str, tasks: Any, tmp_path: Path) -> None:
    check(name, json.dumps(tasks).encode(), tmp_path)


@FUZZ
@given(content=COCO)
def test_any_coco(content: Any, tmp_path: Path) -> None:
    check("coco", json.dumps(content).encode(), tmp_path)


CELLS = st.text(st.characters(codec="utf-8"), max_size=6)


@FUZZ
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=4))
def test_any_rows(rows: list[tuple[str, str, str]], tmp_path: Path) -> None:
    check("crowd-kit", "\n".join(["task,worker,label", *(",".join(row) for row in rows)]).encode(), tmp_path)


ATTRIBUTES = st.dictionaries(
    st.sampled_from(["label", "points", "rle", "left", "top", "width", "height", "name", "z_order"]),
    st.sampled_from(["1", "0", "3", "-1", "1,2", "1,2;3,4;0,5", "a", "../x", "1, 2", "9999999999", "٣", "nan,1;2,2"]),
)


@pytest.mark.parametrize("name", ["cvat", "cvat masks"])
@FUZZ
@given(shapes=st.lists(st.tuples(st.sampled_from(["tag", "mask", "polygon"]), ATTRIBUTES), max_size=3))
def test_any_shapes(name: str, shapes: list[tuple[str, dict[str, str]]], tmp_path: Path) -> None:
    inner = "".join(f"<{tag} {_written(values)}/>" for tag, values in shapes)
    text = f'<annotations><image name="a" width="3" height="3">{inner}</image></annotations>'
    check(name, text.encode(), tmp_path)


def _written(values: dict[str, str]) -> str:
    return " ".join(f'{key}="{value}"' for key, value in values.items())
