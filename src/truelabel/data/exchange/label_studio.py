"""Label Studio's JSON export of choices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from truelabel.data.exchange.entries import ExchangeError, Paths, as_list, several
from truelabel.data.exchange.label_studio_export import finished_tasks, value_of
from truelabel.data.exchange.names import alike

if TYPE_CHECKING:
    from truelabel.annotations import Annotations


def read_label_studio(
    paths: Paths, *, question: str | None = None, example: str | None = None, classes: Sequence[str] | None = None
) -> Annotations:
    """Read choices from Label Studio's JSON export.

    The layout is a list of tasks: ``{"id": 7, "data": {"image": "…"}, "annotations": [{"completed_by": 1, "result":
    [{"type": "choices", "from_name": "label", "value": {"choices": ["cat"]}}]}]}``. Annotations that were cancelled
    are left out, and so are tasks without any.

    Args:
        paths: one file or several.
        question: the ``from_name`` of the choices to read, where a project asks several things.
        example: the field of a task's ``data`` that names the example. By default ``example`` if there is one, else
            the picture, in its folder (:func:`~truelabel.data.exchange.names.picture_name`), else the task's id.
        classes: all classes in order; those found, sorted, by default.

    Raises:
        ExchangeError: if a task is damaged, or has several choices where one is needed; the message says which.

    Example:
        >>> import json, pathlib, tempfile
        >>> def said(who, what):
        ...     result = {"type": "choices", "from_name": "label", "value": {"choices": [what]}}
        ...     return {"completed_by": {"email": who}, "result": [result]}
        >>> task = {"id": 1, "data": {"image": "a.png"}, "annotations": [said("ann", "cat"), said("eve", "dog")]}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "export.json")
        ...     _ = path.write_text(json.dumps([task]))
        ...     read_label_studio(path).to_table().to_pylist()[0]
        {'example': 'a.png', 'annotator': 'ann', 'label': 'cat'}
    """
    from truelabel.annotations import Annotations

    rows: list[tuple[str | int, str, str]] = []
    questions: set[str] = set()
    for finished in finished_tasks(paths, example):
        chosen = [result for result in finished.results if result.get("type") == "choices"]
        questions |= {str(result.get("from_name")) for result in chosen}
        chosen = [result for result in chosen if question in (None, result.get("from_name"))]
        answers = [answer for result in chosen for answer in _choices(result, finished.where)]
        if question is None and len(questions) > 1:
            raise ExchangeError(
                f"{finished.where} answers several questions: pass question= one of {', '.join(sorted(questions))}"
            )
        if len(answers) > 1:
            raise ExchangeError(f"{finished.where} chooses {len(answers)} classes, not one: keep one of them")
        rows += [(finished.example, finished.annotator, answer) for answer in answers]
    if not rows:
        there = f"it asks {', '.join(sorted(questions))}" if questions else "are these masks, or not annotated yet?"
        raise ExchangeError(f"{several(paths)[0].name} holds no choices: {there}")
    examples, annotators, labels = zip(*rows, strict=True)
    table = {"example": alike(examples), "annotator": list(annotators), "label": list(labels)}
    return Annotations.from_table(table, classes=classes)


def _choices(result: dict[str, Any], where: str) -> list[str]:
    choices = as_list(value_of(result).get("choices"), f"'choices' of {where}")
    if not all(isinstance(choice, str) for choice in choices):
        raise ExchangeError(f"'choices' of {where} are not text: export it again")
    return [str(choice) for choice in choices]
