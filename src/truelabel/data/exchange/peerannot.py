"""peerannot's layout: answers.json with the label of each worker for each task, and metadata.json."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truelabel.atomic import write_atomically
from truelabel.data.exchange.entries import ExchangeError, as_object, as_whole, read_json, several
from truelabel.data.exchange.names import alike, as_numbers, safe_name

if TYPE_CHECKING:
    from truelabel.annotations import Annotations

ANSWERS, METADATA = "answers.json", "metadata.json"


def read_peerannot(path: str | os.PathLike[str], *, classes: Sequence[str] | None = None) -> Annotations:
    """Read ``answers.json``: ``{task: {worker: label}}``. Labels are numbers from 0, or text.

    ``metadata.json`` beside it, if it is there, says how many classes there are (``n_classes``), and may name them
    (``classes``, as :func:`write_peerannot` does).

    Args:
        path: the file, or the folder that holds it.
        classes: all classes in order; by default what the metadata say, else those found.

    Raises:
        ExchangeError: if an answer is damaged; the message says which.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = Path(folder, "answers.json").write_text('{"0": {"3": 1, "8": 0}, "1": {"8": 1}}')
        ...     read_peerannot(folder).matrix().tolist()
        [[1, 0], [-1, 1]]
    """
    from truelabel.annotations import Annotations

    given = Path(path)
    file = several(given / ANSWERS if given.is_dir() else given)[0]
    tasks, workers, labels = list[str](), list[str](), list[Any]()
    for task, answers in as_object(read_json(file), file.name).items():
        where = f"task {safe_name(task, f'a task of {file.name}')!r} of {file.name}"
        for worker, label in as_object(answers, where).items():
            if isinstance(label, bool) or not isinstance(label, str | int) or label == "":
                raise ExchangeError(f"the answer of {worker[:40]!r} to {where} is no class: give its number or name")
            tasks.append(task)
            workers.append(safe_name(worker, where))
            labels.append(label)
    if not labels:
        raise ExchangeError(f"{file.name} holds no answers: is it the right file?")
    names: Any = classes
    if classes is None:
        names = _classes(file.with_name(METADATA), labels)
        if isinstance(names, list) and all(isinstance(label, int) for label in labels):
            labels = [_named(label, names, file) for label in labels]
    columns = {"example": as_numbers(tasks), "annotator": as_numbers(workers), "label": alike(labels)}
    return Annotations.from_table(columns, classes=names)


def write_peerannot(annotations: Annotations, folder: str | os.PathLike[str], name: str = "truelabel") -> None:
    """Write ``answers.json`` and ``metadata.json``; labels are numbers, and the metadata name them.

    Args:
        annotations: labels of whole examples.
        folder: made if it is not there. Each file appears whole or not at all.
        name: of the data set.

    Example:
        >>> import tempfile
        >>> from truelabel import Annotations
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_peerannot(Annotations.from_matrix([["cat", "dog"]]), folder)
        ...     Path(folder, "answers.json").read_text()
        '{"0": {"0": 0, "1": 1}}'
    """
    if annotations.space:
        raise ExchangeError("peerannot has no place for masks: export them as coco or label-studio")
    answers: dict[str, dict[str, int]] = {}
    for example, annotator, label in zip(annotations.example, annotations.annotator, annotations.label, strict=True):
        said = answers.setdefault(str(annotations.examples[example]), {})
        said[str(annotations.annotators[annotator])] = int(label)
    metadata = {
        "name": name,
        "n_classes": len(annotations.classes),
        "n_workers": len(annotations.annotators),
        "n_task": len(annotations.examples),
        "classes": list(annotations.classes),
    }
    for file, content in ((METADATA, metadata), (ANSWERS, answers)):
        write_atomically(Path(folder) / file, json.dumps(content, ensure_ascii=False).encode())


def _classes(metadata: Path, labels: Sequence[Any]) -> list[Any] | int | None:
    """Names of the classes, how many they are where labels are numbers, or None if nothing tells them."""
    if not metadata.is_file():
        return None
    known = as_object(read_json(metadata), metadata.name)
    names, count = known.get("classes"), known.get("n_classes")
    if names is not None:
        if not isinstance(names, list) or not names or not all(isinstance(name, str | int) for name in names):
            raise ExchangeError(f"'classes' of {metadata.name} is no list of names: mend it, or take it out")
        return names
    if count is None or not all(isinstance(label, int) for label in labels):
        return None
    return as_whole(count, f"'n_classes' of {metadata.name}", 1)


def _named(label: int, names: list[Any], file: Path) -> Any:
    if not 0 <= label < len(names):
        raise ExchangeError(f"an answer in {file.name} is {label}, but {METADATA} names {len(names)} classes: mend one")
    return names[label]
