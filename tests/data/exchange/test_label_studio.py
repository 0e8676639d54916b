from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from truelabel.data.exchange import ExchangeError, read_label_studio


def choice(*what: Any, name: str = "label") -> dict[str, Any]:
    return {"type": "choices", "from_name": name, "to_name": "image", "value": {"choices": list(what)}}


def task(number: int, **said: Any) -> dict[str, Any]:
    annotations = [{"completed_by": {"email": who}, "result": results} for who, results in said.items()]
    return {"id": number, "data": {"image": f"{number}.png"}, "annotations": annotations}


def export(folder: Path, *tasks: Any) -> Path:
    path = folder / "export.json"
    path.write_text(json.dumps(tasks))
    return path


def test_choices_of_several_people(tmp_path: Path) -> None:
    path = export(
        tmp_path,
        task(1, ann=[choice("cat")], eve=[choice("dog")]),
        task(2, ann=[choice("dog"), {"type": "textarea"}], eve=[]),
        task(3),
    )
    annotations = read_label_studio(path)
    assert annotations.examples.tolist() == ["1.png", "2.png"]
    assert annotations.annotators.tolist() == ["ann", "eve"]
    assert annotations.matrix().tolist() == [[0, 1], [1, -1]]
    assert read_label_studio(path, classes=["dog", "cat", "cow"]).matrix().tolist() == [[1, 0], [0, -1]]


def test_several_files_are_one_project(tmp_path: Path) -> None:
    first = export(tmp_path, task(1, ann=[choice("cat")])).rename(tmp_path / "first.json")
    second = export(tmp_path, task(2, ann=[choice("dog")]))
    assert read_label_studio([first, second]).counts.tolist() == [1, 1]


def test_a_question_is_chosen_by_name(tmp_path: Path) -> None:
    path = export(tmp_path, task(1, ann=[choice("cat"), choice("yes", name="sharp")]))
    assert read_label_studio(path, question="sharp").classes == ("yes",)
    with pytest.raises(ExchangeError, match="several questions: pass question= one of label, sharp"):
        read_label_studio(path)
    with pytest.raises(ExchangeError, match="export.json holds no choices: it asks label, sharp"):
        read_label_studio(path, question="nope")


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([choice("cat", "dog")], "annotation 1 of task 1 of export.json chooses 2 classes, not one: keep one"),
        ([choice(3)], "'choices' of annotation 1 of task 1 of export.json are not text"),
        ([{"type": "choices", "value": 3}], "'choices' of annotation 1 of task 1 of export.json is null, not a list"),
        ([], "export.json holds no choices: are these masks, or not annotated yet"),
    ],
)
def test_what_cannot_be_used_says_where(tmp_path: Path, results: list[Any], message: str) -> None:
    with pytest.raises(ExchangeError, match=message):
        read_label_studio(export(tmp_path, task(1, ann=results)))


def test_a_repeated_label_is_told_and_the_last_kept(tmp_path: Path) -> None:
    twice = task(1, ann=[choice("cat")])
    twice["annotations"] *= 2
    with pytest.warns(UserWarning, match="1 labels repeat an example and annotator"):
        assert read_label_studio(export(tmp_path, twice)).size == 1
