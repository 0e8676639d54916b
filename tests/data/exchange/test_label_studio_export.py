from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truelabel.data.exchange.entries import ExchangeError
from truelabel.data.exchange.label_studio_export import finished_tasks


def names(folder: Path, task: dict[str, Any], example: str | None = None) -> list[tuple[Any, Any]]:
    path = folder / "export.json"
    path.write_text(json.dumps([{"annotations": [{"completed_by": 1, "result": []}], **task}]))
    return [(finished.example, finished.annotator) for finished in finished_tasks(path, example)]


@pytest.mark.parametrize(
    ("task", "field", "name"),
    [
        ({"id": 7, "data": {"text": "So so."}}, None, 7),
        ({"id": 7, "data": {"image": "/data/upload/1/0123abcd-a.PNG"}}, None, "a.PNG"),
        ({"id": 7, "data": {"image": "a.png", "example": "case 1"}}, None, "case 1"),
        ({"id": 7, "data": {"image": "a.png", "example": 0}}, None, 0),
        ({"id": 7, "data": {"image": "a.png", "who": 3}}, "who", 3),
    ],
)
def test_examples_are_called_by_what_tells_most(tmp_path: Path, task: Any, field: str | None, name: Any) -> None:
    assert names(tmp_path, task, field) == [(name, "1")]


@pytest.mark.parametrize(
    ("who", "name"),
    [(3, "3"), ({"id": 3, "email": "a@b.c"}, "a@b.c"), ({"id": 3}, "3"), (None, "unknown"), ("ann", "ann")],
)
def test_annotators_are_ids_or_people(tmp_path: Path, who: Any, name: str) -> None:
    task = {"id": 1, "annotations": [{"completed_by": who}]}
    assert names(tmp_path, task) == [(1, name)]


def test_cancelled_and_older_ones(tmp_path: Path) -> None:
    assert names(tmp_path, {"id": 1, "annotations": [{"was_cancelled": True}, {"completed_by": 2}]}) == [(1, "2")]
    path = tmp_path / "old.json"
    path.write_text(json.dumps([{"id": 1, "completions": [{"completed_by": 2, "result": []}]}]))
    assert len(list(finished_tasks(path, None))) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "export.json is an object, not a list"),
        ([1], "task 1 of export.json is a number, not an object"),
        ([{"id": 1}], "task 1 of export.json has no 'annotations': export the project as JSON, not JSON-MIN"),
        ([{"id": 1, "predictions": []}], "task 1 of export.json has predictions only, which nobody has looked at"),
        ([{"annotations": [{}]}], "task 1 of export.json has no 'id'"),
        ([{"id": 1, "annotations": 3}], "'annotations' of task 1 of export.json is a number, not a list"),
        ([{"id": 1, "annotations": ["x"]}], "annotation 1 of task 1 of export.json is text, not an object"),
        ([{"id": 1, "annotations": [{"result": ["x"]}]}], "a result of annotation 1 of task 1"),
        ([{"id": "../x", "annotations": [{}]}], "leads out of the data folder"),
        ([{"id": 1, "data": {"image": "../../a.png"}, "annotations": [{}]}], "leads out of the data folder"),
        ([{"id": 1, "annotations": [{"completed_by": "../x"}]}], "leads out of the data folder"),
    ],
)
def test_damage_says_where(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "export.json"
    path.write_text(json.dumps(content))
    with pytest.raises(ExchangeError, match=message):
        list(finished_tasks(path, None))
