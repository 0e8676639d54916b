"""Tasks for Label Studio: labels and masks as annotations, suggestions as predictions."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from truelabel.atomic import write_atomically
from truelabel.data.exchange.brush import encode_brush
from truelabel.data.exchange.drawn import DrawnMask
from truelabel.data.exchange.entries import ExchangeError
from truelabel.data.folder import ENDINGS

if TYPE_CHECKING:
    from truelabel.annotations import Annotations

LOCAL_FILES = "/data/local-files/?d="
"""The address of a file in Label Studio's local storage, before its path."""


@dataclass(frozen=True)
class TaskWriting:
    """How tasks look.

    Attributes:
        question: the name of the tag that asks, ``<Choices name="label">`` or ``<BrushLabels name="label">``.
        prefix: what stands before the name of a picture.
        texts: of examples that are no pictures, by name; their names stand for them by default.
    """

    question: str = "label"
    prefix: str = LOCAL_FILES
    texts: Mapping[str, str] | None = None

    def data(self, name: object) -> dict[str, Any]:
        """What a task shows: the picture or the text, and what the example is called."""
        if str(name).lower().endswith(tuple(ENDINGS)):
            return {"image": self.prefix + quote(str(name)), "example": name}
        return {"text": (self.texts or {}).get(str(name), str(name)), "example": name}

    def choice(self, name: object, label: object) -> dict[str, Any]:
        """A result that chooses a class."""
        shown = "image" if "image" in self.data(name) else "text"
        value = {"choices": [str(label)]}
        return {"from_name": self.question, "to_name": shown, "type": "choices", "value": value}

    def strokes(self, mask: NDArray[Any], classes: Sequence[object]) -> list[dict[str, Any]]:
        """Results that paint the classes of a mask ``(H, W)``, but the first, which is the background."""
        if mask.ndim != 2:
            raise ExchangeError("Label Studio's brush paints pictures, not volumes: export slices")
        height, width = mask.shape
        return [
            {
                "id": f"region-{code}",
                "from_name": self.question,
                "to_name": "image",
                "type": "brushlabels",
                "original_width": width,
                "original_height": height,
                "image_rotation": 0,
                "value": {"format": "rle", "rle": encode_brush(mask == code), "brushlabels": [str(classes[code])]},
            }
            for code in np.unique(mask[mask > 0]).tolist()
        ]


class Suggestion(NamedTuple):
    """What a run believes of an example: results as a task has them, how sure it is, and what people said."""

    example: object
    results: list[dict[str, Any]]
    score: float
    given: str


_PLAIN = TaskWriting()


def write_label_studio(annotations: Annotations, path: str | os.PathLike[str], writing: TaskWriting = _PLAIN) -> None:
    """Write labels as tasks with annotations, for Label Studio's import; the file appears whole or not at all.

    Annotators that are numbers are ids of Label Studio's users, others their e-mail addresses. Label Studio wants them
    to be members before it takes their annotations.

    Args:
        annotations: labels of whole examples.
        path: the JSON file.
        writing: how tasks look.

    Example:
        >>> import tempfile
        >>> from truelabel import Annotations
        >>> from truelabel.data.exchange import read_label_studio
        >>> said = Annotations.from_matrix([["cat", "dog"]], examples=["a b.png"], annotators=["ann", "eve"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "tasks.json")
        ...     write_label_studio(said, path)
        ...     read_label_studio(path).to_table().to_pylist()[1]
        {'example': 'a b.png', 'annotator': 'eve', 'label': 'dog'}
    """
    if annotations.space:
        raise ExchangeError("these are masks, not labels: use write_label_studio_masks")
    tasks: dict[int, dict[str, Any]] = {}
    names = [_plain(name) for name in annotations.examples]
    for example, annotator, label in zip(annotations.example, annotations.annotator, annotations.label, strict=True):
        name = names[example]
        task = tasks.setdefault(int(example), {"data": writing.data(name), "annotations": []})
        result = writing.choice(name, annotations.classes[label])
        task["annotations"].append(_annotation(annotations.annotators[annotator], [result]))
    _write(path, list(tasks.values()))


def write_label_studio_masks(
    masks: Iterable[DrawnMask],
    classes: Sequence[str | int],
    path: str | os.PathLike[str],
    writing: TaskWriting = _PLAIN,
) -> None:
    """Write masks as tasks with brush strokes; the file appears whole or not at all.

    Args:
        masks: :class:`~truelabel.data.exchange.Drawn`, or any ``(image, reader, mask (H, W))`` with positions in
            ``classes``; -1, no label, is left unpainted.
        classes: K names; the first is the background.
        path: the JSON file.
        writing: how tasks look.

    Example:
        >>> import tempfile
        >>> from truelabel.data.exchange import read_label_studio_masks
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "tasks.json")
        ...     write_label_studio_masks([DrawnMask("a.png", "ann", np.eye(2, dtype=int))], ["ground", "cell"], path)
        ...     [drawn.mask.tolist() for drawn in read_label_studio_masks(path)]
        [[[1, 0], [0, 1]]]
    """
    tasks: dict[str, dict[str, Any]] = {}
    for image, reader, mask in masks:
        task = tasks.setdefault(image, {"data": writing.data(image), "annotations": []})
        task["annotations"].append(_annotation(reader, writing.strokes(mask, classes)))
    _write(path, list(tasks.values()))


def write_predictions(
    suggestions: Iterable[Suggestion], path: str | os.PathLike[str], model: str, writing: TaskWriting = _PLAIN
) -> None:
    """Write suggestions as tasks with predictions, which Label Studio shows before somebody annotates.

    Args:
        suggestions: in the order of the tasks.
        path: the JSON file.
        model: what Label Studio calls ``model_version``.
        writing: how tasks look.

    Example:
        >>> import tempfile
        >>> writing = TaskWriting()
        >>> suggestion = Suggestion("a.png", [writing.choice("a.png", "dog")], 0.9, "ann: cat")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "tasks.json")
        ...     write_predictions([suggestion], path, "truelabel")
        ...     json.loads(path.read_text())[0]["predictions"][0]["score"]
        0.9
    """
    tasks = [
        {
            "data": writing.data(_plain(one.example)) | {"given": one.given},
            "predictions": [{"model_version": model, "score": one.score, "result": one.results}],
        }
        for one in suggestions
    ]
    _write(path, tasks)


def _annotation(annotator: Any, results: list[dict[str, Any]]) -> dict[str, Any]:
    who = _plain(annotator)
    return {"completed_by": who if isinstance(who, int) else {"email": who}, "result": results}


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _write(path: str | os.PathLike[str], tasks: list[dict[str, Any]]) -> None:
    write_atomically(Path(path), json.dumps(tasks, ensure_ascii=False).encode())
