"""Labels of a data set of Hugging Face's ``datasets``, if that is installed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truelabel.data.exchange.entries import ExchangeError
from truelabel.data.exchange.names import alike, plain_name

if TYPE_CHECKING:
    from truelabel.annotations import Annotations


def from_datasets(
    dataset: Any, labels: str | Sequence[str] = "label", *, example: str | None = None, annotator: str | None = None
) -> Annotations:
    """Labels from a split of Hugging Face's ``datasets``.

    Args:
        dataset: a ``datasets.Dataset``, or a folder that ``save_to_disk`` wrote (which needs the package ``datasets``;
            nothing is downloaded).
        labels: a column of labels, or several, one for each annotator, who are called like them. A ``ClassLabel``
            names the classes; its -1 and None mean "no label". A column of lists has the labels of several annotators.
        example: column that names examples; by default they are the numbers of the rows.
        annotator: column that says who labelled: a name in each row, or lists of names beside lists of labels. Rows
            may then repeat an example.

    Raises:
        ImportError: for a folder, without the package.
        ExchangeError: if a column is not there, or does not hold labels.

    Example:
        >>> class Rows(dict):  # stands for a datasets.Dataset
        ...     column_names = property(list)
        >>> rows = Rows(ann=["cat", "dog"], eve=["cat", None])
        >>> from_datasets(rows, ["ann", "eve"]).to_table().num_rows
        3
    """
    from truelabel.annotations import Annotations

    if isinstance(dataset, str | os.PathLike):
        dataset = _loaded(Path(dataset))
    columns = [labels] if isinstance(labels, str) else list(labels)
    there = getattr(dataset, "column_names", None)
    if isinstance(there, dict):
        raise ExchangeError(f"dataset holds several splits: pass one of them, like dataset[{next(iter(there))!r}]")
    if there is None or not columns:
        raise ExchangeError(f"dataset must be a datasets.Dataset with columns, not {type(dataset).__name__}")
    for name in (*columns, *(n for n in (example, annotator) if n is not None)):
        if name not in there:
            raise ExchangeError(f"dataset has no column {name!r}: it has {', '.join(map(str, there))}")
    if annotator is not None and len(columns) > 1:
        raise ExchangeError(f"annotator={annotator!r} is for one column of labels, not {len(columns)}: leave one out")
    names = _class_names(dataset, columns)
    who = list(dataset[annotator]) if annotator is not None else None
    rows: list[tuple[Any, Any, Any]] = []
    for column in columns:
        values = list(dataset[column])
        ids = list(dataset[example]) if example is not None else range(len(values))
        for number, (name, value) in enumerate(zip(ids, values, strict=True)):
            where = f"row {number + 1} of column {column!r}"
            rows += _row(name, value, column if who is None else who[number], where, names)
    if not rows:
        raise ExchangeError(f"column {columns[0]!r} holds no labels: every entry is missing")
    examples, annotators, given = (alike(column) for column in zip(*rows, strict=True))
    table = {"example": examples, "annotator": annotators, "label": given}
    every = alike(plain_name(name, "a row") for name in ids)
    return Annotations.from_table(table, classes=names, examples=list(dict.fromkeys(every)))


def _row(name: Any, value: Any, who: Any, where: str, names: list[str] | None) -> list[tuple[Any, Any, Any]]:
    """The labels in one cell, by whom."""
    if isinstance(value, list | tuple):
        people = who if isinstance(who, list | tuple) else [f"{who} {i}" for i in range(len(value))]
        if len(people) != len(value):
            raise ExchangeError(f"{where} has {len(value)} labels by {len(people)} annotators: mend the row")
    else:
        value, people = [value], [who]
    said = []
    for label, person in zip(value, people, strict=True):
        given = _label(label, names, where)
        if given is not None:
            said.append((plain_name(name, where), plain_name(person, where), given))
    return said


def _label(value: Any, names: list[str] | None, where: str) -> str | int | None:
    value = value.item() if hasattr(value, "item") else value
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if names is not None and isinstance(value, int):
        if value >= len(names):
            raise ExchangeError(f"{where} has label {value}, but there are {len(names)} classes: mend the row")
        return names[value] if value >= 0 else None
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ExchangeError(f"{where} has a {type(value).__name__}, which is no label: name another column")
    return value


def _class_names(dataset: Any, columns: Sequence[str]) -> list[str] | None:
    """The names of a ClassLabel, itself or in a list; all columns must have the same."""
    features = getattr(dataset, "features", None) or {}
    found = []
    for column in columns:
        feature = features.get(column)
        feature = getattr(feature, "feature", feature)
        found.append(getattr(feature, "names", None))
    if any(names != found[0] for names in found):
        raise ExchangeError(f"columns {', '.join(columns)} have different classes: bring them to one ClassLabel first")
    return list(found[0]) if found[0] else None


def _loaded(path: Path) -> Any:
    try:
        datasets = import_module("datasets")
    except ImportError as error:
        raise ImportError(f"{path} needs Hugging Face's datasets: pip install datasets") from error
    if not path.is_dir():
        raise FileNotFoundError(f"there is no folder {path}: check the path")
    return datasets.load_from_disk(str(path))
