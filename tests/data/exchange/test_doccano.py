from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truelabel.data.exchange import ExchangeError, read_doccano


def export(folder: Path, name: str, *documents: Any) -> Path:
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(json.dumps(document) for document in documents))
    return path


def test_a_file_for_each_annotator(tmp_path: Path) -> None:
    ann = export(tmp_path, "ann", {"id": 1, "text": "a", "label": ["good"]}, {"id": 2, "text": "b", "label": []})
    eve = export(tmp_path, "eve", {"id": 1, "text": "a", "label": "bad"}, {"id": 2, "text": "b", "labels": ["good"]})
    annotations = read_doccano([ann, eve])
    assert annotations.annotators.tolist() == ["ann", "eve"]
    assert annotations.matrix().tolist() == [[1, 0], [-1, 1]]


def test_older_exports_have_users_and_numbers(tmp_path: Path) -> None:
    users = [{"label": 5, "user": 1}, {"label": 6, "user": 2}]
    annotations = read_doccano(export(tmp_path, "all", {"id": 3, "text": "a", "annotations": users}))
    assert (annotations.classes, annotations.annotators.tolist()) == ((5, 6), [1, 2])


def test_documents_without_id_are_counted(tmp_path: Path) -> None:
    path = export(tmp_path, "all", {"text": "a", "label": ["x"]}, {"text": "b", "label": ["y"]})
    assert read_doccano(path, classes=["y", "x"]).matrix().tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "line 1 of all.jsonl is a list, not an object"),
        ({"text": "a"}, "line 1 of all.jsonl has no 'label': export the project as JSONL, with labels"),
        ({"label": ["a", "b"]}, "line 1 of all.jsonl has 2 labels, not one: keep one of them"),
        ({"label": [[0, 4, "PER"]]}, "line 1 of all.jsonl marks spans of text"),
        ({"label": [None]}, "neither text nor a whole number"),
        ({"label": []}, "all.jsonl holds no labels"),
        ({"id": "../x", "label": ["a"]}, "leads out of the data folder"),
        ({"annotations": [{"user": 1, "label": 2}, {"user": 1, "label": 3}]}, "has two labels by 1, not one"),
        ({"annotations": [{"user": 1, "label": {}}]}, "neither text nor a whole number"),
    ],
)
def test_damage_says_where(tmp_path: Path, document: Any, message: str) -> None:
    with pytest.raises(ExchangeError, match=message):
        read_doccano(export(tmp_path, "all", document))
