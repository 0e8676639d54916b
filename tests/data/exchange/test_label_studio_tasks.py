from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel import Annotations
from truelabel.data.exchange import (
    DrawnMask,
    ExchangeError,
    Suggestion,
    TaskWriting,
    read_label_studio,
    read_label_studio_masks,
    write_label_studio,
    write_label_studio_masks,
    write_predictions,
)

LABELS = st.lists(st.sampled_from(["cat", "dog", None]), min_size=2, max_size=2)


@given(rows=st.lists(LABELS, min_size=1, max_size=5))
def test_labels_come_back(rows: list[list[Any]], tmp_path_factory: pytest.TempPathFactory) -> None:
    names = [f"ward 1/{i} #ü?.png" for i in range(len(rows))]
    said = Annotations.from_matrix(rows, examples=names, annotators=["a@b.c", "eve"])
    path = tmp_path_factory.mktemp("tasks") / "tasks.json"
    if not said.size:
        return
    write_label_studio(said, path)
    assert read_label_studio(path).to_table().to_pylist() == said.to_table().to_pylist()


def test_texts_and_numbers_come_back_too(tmp_path: Path) -> None:
    said = Annotations.from_matrix([[0, 1], [1, 1]])
    path = tmp_path / "tasks.json"
    write_label_studio(said, path, TaskWriting(question="mood", texts={"0": "Fine."}))
    tasks = json.loads(path.read_text())
    assert [task["data"] for task in tasks] == [{"text": "Fine.", "example": 0}, {"text": "1", "example": 1}]
    back = read_label_studio(path, question="mood")
    assert (back.examples.tolist(), back.annotators.tolist(), back.matrix().tolist()) == (
        [0, 1],
        ["0", "1"],
        [[0, 1], [1, 1]],
    )


def test_masks_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    masks = [DrawnMask(f"{i}.png", who, rng.integers(0, 3, (5, 4 + i))) for i in range(2) for who in ("ann", "eve")]
    path = tmp_path / "tasks.json"
    write_label_studio_masks(masks, ["background", "cell", "vessel"], path)
    back = read_label_studio_masks(path)
    assert back.classes == ("background", "cell", "vessel")
    for expected, actual in zip(masks, back, strict=True):
        assert (actual.image, actual.reader) == (expected.image, expected.reader)
        np.testing.assert_array_equal(actual.mask, expected.mask)


def test_predictions_are_what_label_studio_wants(tmp_path: Path) -> None:
    writing = TaskWriting(prefix="s3://bucket/")
    path = tmp_path / "tasks.json"
    suggestion = Suggestion("a b.png", [writing.choice("a b.png", "<b>dog</b>")], 0.75, "ann: cat")
    write_predictions([suggestion], path, "truelabel forward", writing)
    assert json.loads(path.read_text()) == [
        {
            "data": {"image": "s3://bucket/a%20b.png", "example": "a b.png", "given": "ann: cat"},
            "predictions": [
                {
                    "model_version": "truelabel forward",
                    "score": 0.75,
                    "result": [
                        {
                            "from_name": "label",
                            "to_name": "image",
                            "type": "choices",
                            "value": {"choices": ["<b>dog</b>"]},
                        }
                    ],
                }
            ],
        }
    ]


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    masks = Annotations.from_masks(np.zeros((1, 1, 2, 2), int), classes=2)
    with pytest.raises(ExchangeError, match="these are masks, not labels"):
        write_label_studio(masks, tmp_path / "a.json")
    with pytest.raises(ExchangeError, match="not volumes"):
        write_label_studio_masks([DrawnMask("a", "b", np.ones((2, 2, 2), int))], ["x", "y"], tmp_path / "a.json")
    assert not list(tmp_path.iterdir())
