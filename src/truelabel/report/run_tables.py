"""The tables of people, confusion and training that a run keeps."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truelabel.report.label_rows import read_text_columns
from truelabel.training import RunFolderError


class Person(NamedTuple):
    """An annotator, or a reader of masks: name, labels given, skill, and the ends of its interval if there is one."""

    name: str
    labels: int
    skill: float
    low: float | None
    high: float | None


def read_people(file: Path) -> list[Person]:
    """Of ``annotators.csv``, in the words for annotators or for readers of masks."""
    columns = read_text_columns(file)
    who = columns.get("annotator", columns.get("reader"))
    given, skill = columns.get("labels", columns.get("images")), columns.get("skill")
    if who is None or given is None or skill is None:
        raise RunFolderError(f"{file} is damaged: it should have the columns annotator, labels and skill")
    nothing = [""] * len(who)
    ends = zip(columns.get("skill_low", nothing), columns.get("skill_high", nothing), strict=True)
    try:
        return [
            Person(name, int(count), float(value), _number(low), _number(high))
            for name, count, value, (low, high) in zip(who, given, skill, ends, strict=True)
        ]
    except ValueError as error:
        raise RunFolderError(f"{file} is damaged: {error}") from error


def read_confusion(file: Path, people: list[str], classes: list[str]) -> NDArray[np.float64]:
    """Of ``confusion.csv``: ``(R, K, K)`` in the order of the names, NaN where there is no row."""
    columns = read_text_columns(file)
    row, place = {name: i for i, name in enumerate(people)}, {name: i for i, name in enumerate(classes)}
    cells = np.full((len(people), len(classes), len(classes)), np.nan)
    try:
        who = columns.get("annotator", columns.get("reader", []))
        for name, true, observed, value in zip(
            who, columns["true"], columns["observed"], columns["probability"], strict=True
        ):
            cells[row[name], place[true], place[observed]] = float(value)
    except (KeyError, ValueError) as error:
        raise RunFolderError(f"{file} is damaged: {error!r}") from error
    return cells


def read_curves(path: Path) -> dict[str, list[dict[str, float]]]:
    """Rows of ``metrics.csv`` of every stage in a run folder, by the name of the stage."""
    curves = {}
    for file in sorted(path.glob("*/metrics.csv")):
        columns = read_text_columns(file)
        try:
            numbers = [[float(text) if text else np.nan for text in column] for column in columns.values()]
            curves[file.parent.name] = [dict(zip(columns, row, strict=True)) for row in zip(*numbers, strict=True)]
        except ValueError as error:
            raise RunFolderError(f"{file} is damaged: {error}") from error
    return curves


def _number(text: str) -> float | None:
    return float(text) if text and np.isfinite(float(text)) else None
