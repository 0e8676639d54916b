from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.coding import LabelError
from truelabel.data.exchange import ExchangeError, read_peerannot, write_peerannot

TOY = {"0": {"0": 1, "1": 0, "2": 1, "3": 1}, "1": {"0": 1, "2": 0, "3": 0}, "10": {"1": 1, "3": 1}}
"""As peerannot's own toy data."""


def put(folder: Path, answers: Any, metadata: Any = None) -> Path:
    (folder / "answers.json").write_text(json.dumps(answers))
    if metadata is not None:
        (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


def test_answers_of_workers(tmp_path: Path) -> None:
    annotations = read_peerannot(put(tmp_path, TOY))
    assert annotations.examples.tolist() == [0, 1, 10]
    assert annotations.matrix().tolist() == [[1, 0, 1, 1], [1, -1, 0, 0], [-1, 1, -1, 1]]
    assert read_peerannot(tmp_path / "answers.json").size == 9


def test_metadata_tell_the_classes(tmp_path: Path) -> None:
    assert read_peerannot(put(tmp_path, TOY, {"name": "toy", "n_classes": 4})).classes == (0, 1, 2, 3)
    assert read_peerannot(put(tmp_path, TOY, {"n_classes": 2, "classes": ["no", "yes"]})).classes == ("no", "yes")
    assert read_peerannot(tmp_path, classes=["1", "0"]).matrix()[0].tolist() == [0, 1, 0, 0]
    with pytest.raises(LabelError, match="is outside 0:"):
        read_peerannot(put(tmp_path, TOY, {"n_classes": 1}))
    with pytest.raises(ExchangeError, match="an answer in answers.json is 1, but metadata.json names 1 classes"):
        read_peerannot(put(tmp_path, TOY, {"classes": ["no"]}))
    with pytest.raises(ExchangeError, match="'classes' of metadata.json is no list of names"):
        read_peerannot(put(tmp_path, TOY, {"classes": 3}))


@pytest.mark.parametrize("names", [["cat", "dog"], [3, 7]])
def test_labels_come_back(tmp_path: Path, names: list[Any]) -> None:
    said = Annotations.from_matrix([[names[0], None], [names[1], names[0]]], annotators=["ann", "eve"])
    write_peerannot(said, tmp_path / "out", "mine")
    back = read_peerannot(tmp_path / "out")
    assert back.to_table().to_pylist() == said.to_table().to_pylist()
    metadata = json.loads((tmp_path / "out" / "metadata.json").read_text())
    assert metadata == {"name": "mine", "n_classes": 2, "n_workers": 2, "n_task": 2, "classes": names}


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([], "answers.json is a list, not an object"),
        ({"0": 3}, "task '0' of answers.json is a number, not an object"),
        ({"0": {"1": None}}, "the answer of '1' to task '0' of answers.json is no class"),
        ({"0": {"1": 0.5}}, "is no class: give its number or name"),
        ({"../x": {"1": 0}}, "leads out of the data folder"),
        ({"0": {}}, "answers.json holds no answers"),
    ],
)
def test_damage_says_where(tmp_path: Path, answers: Any, message: str) -> None:
    with pytest.raises(ExchangeError, match=message):
        read_peerannot(put(tmp_path, answers))


def test_masks_have_no_place(tmp_path: Path) -> None:
    with pytest.raises(ExchangeError, match="no place for masks"):
        write_peerannot(Annotations.from_masks(np.zeros((1, 1, 2, 2), int), classes=2), tmp_path)
