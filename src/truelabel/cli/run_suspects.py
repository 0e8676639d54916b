"""What a run suspects, as suggestions for Label Studio: from ``label_quality.csv`` and ``source.json``."""

from __future__ import annotations

import contextlib
import glob
import io
import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from truelabel.data.exchange import Suggestion, TaskWriting

QUALITY, SOURCE = "label_quality.csv", "source.json"


class Suspect(NamedTuple):
    """An example with a label that is probably wrong: the class that is believed, how surely, and what was said."""

    example: Any
    suggested: str
    probability: float
    given: str


def read_suspects(run: Path, limit: int | None = None) -> list[Suspect]:
    """Examples of a run with a label that differs from what is believed, the most suspect first.

    Args:
        run: a run folder.
        limit: at most so many.
    """
    from truelabel.frames import Table

    table = Table(run / QUALITY)
    needed = ("example", "annotator", "label", "probability_right", "suggested", "suggested_probability")
    absent = next((name for name in needed if name not in table.columns), None)
    if absent is not None:
        raise ValueError(f"{run / QUALITY} has no column {absent!r}: train again with this version")
    names = table.names("example").to_pylist()
    who, label, suggested = (table.text(name) for name in ("annotator", "label", "suggested"))
    right, sure = (table.column(name).to_pylist() for name in ("probability_right", "suggested_probability"))
    given: dict[Any, list[str]] = {}
    worst: dict[Any, int] = {}
    for row, name in enumerate(names):
        given.setdefault(name, []).append(f"{who[row]}: {label[row]}")
        if label[row] != suggested[row] and (name not in worst or right[row] < right[worst[name]]):
            worst[name] = row
    order = sorted(worst, key=lambda name: float(right[worst[name]]))[:limit]
    return [
        Suspect(name, str(suggested[worst[name]]), float(sure[worst[name]]), "; ".join(given[name])) for name in order
    ]


def suggestions(run: Path, writing: TaskWriting, limit: int | None = None) -> tuple[list[Suggestion], TaskWriting]:
    """Suspects as Label Studio's predictions, and how their tasks look: with texts, where the run is about texts."""
    from truelabel.data.exchange import Suggestion

    source = _source(run)
    suspects = read_suspects(run, limit)
    if source.get("kind") == "masks":
        return _masks(run, Path(source["data"]), suspects, writing), writing
    if source.get("text_column"):
        writing = replace(writing, texts=_texts(run, Path(source["data"]), source["text_column"]))
    chosen = [(one, writing.choice(one.example, one.suggested)) for one in suspects]
    return [Suggestion(one.example, [result], one.probability, one.given) for one, result in chosen], writing


def _source(run: Path) -> dict[str, Any]:
    """Where the run's data are; a run without the note was not trained from files."""
    path = run / SOURCE
    if not path.is_file():
        return {}
    try:
        source = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged ({error}): train again") from error
    if not isinstance(source, dict) or not isinstance(source.get("data"), str):
        raise ValueError(f"{path} does not say where the data are: train again")
    return source


def _texts(run: Path, data: Path, column: str) -> dict[str, str]:
    """The text of each example of a table, by name: the column that named examples in training, or row numbers."""
    from truelabel.frames import Table

    if not data.is_file():
        raise FileNotFoundError(f"there is no file {data}, which {run} was trained on: put it back")
    table = Table(data)
    record = run / "inputs.json"
    named = json.loads(record.read_text(encoding="utf-8")).get("id_column") if record.is_file() else None
    texts = table.text(column)
    names = table.text(named) if named in table.columns else [str(row) for row in range(len(texts))]
    return {str(name): text or "" for name, text in zip(names, texts, strict=True)}


def _masks(run: Path, data: Path, suspects: list[Suspect], writing: TaskWriting) -> list[Suggestion]:
    """What the network believes of the pictures of suspects, as brush strokes."""
    from truelabel.cli.predict_masks import Answers, predict_masks
    from truelabel.data import read_mask
    from truelabel.data.exchange import Suggestion
    from truelabel.data.pictures import find_pictures
    from truelabel.estimators import TrueLabelSegmenter
    from truelabel.estimators.image_reading import ImageReading

    if not data.is_dir():
        raise FileNotFoundError(f"there is no folder {data}, which {run} was trained on: put it back")
    segmenter = TrueLabelSegmenter.load(run)
    reading = segmenter.reading_ or ImageReading()
    pictures, _ = find_pictures(data, reading.images, [str(name) for name in segmenter.annotators_], reading.pattern)
    file_of = {picture.name: picture.files[0] for picture in pictures}
    with tempfile.TemporaryDirectory() as scratch:
        with contextlib.redirect_stdout(io.StringIO()):  # what is written here is nobody's result
            predict_masks(run, data, Path(scratch), "auto", set())
        values = Answers(segmenter, reading, Path(scratch), set()).values
        position = {value: code for code, value in enumerate(values)}
        found = []
        for one in suspects:
            file = file_of.get(str(one.example))
            path = next(Path(scratch).glob(f"{glob.escape(str(one.example))}.*"), None)
            if file is None or path is None:
                raise FileNotFoundError(f"picture {one.example!r} is not in {data}: put it back")
            stored, _ = read_mask(path, classes=list(values))
            believed = _positions(stored, position)
            name = file.resolve().relative_to(data.resolve()).as_posix()
            results = writing.strokes(believed, list(segmenter.classes_))
            found.append(Suggestion(name, results, one.probability, one.given))
    return found


def _positions(mask: Any, position: dict[int, int]) -> Any:
    import numpy as np

    table = np.zeros(max(position) + 1, np.int16)
    table[list(position)] = list(position.values())
    return table[mask]
