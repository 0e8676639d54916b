"""What a run folder tells, and what it lacks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.report.label_rows import LabelRows, read_label_rows, read_text_columns
from truelabel.report.run_tables import Person, read_confusion, read_curves, read_people
from truelabel.training import RunFolderError
from truelabel.training.files import read_json

KINDS = ("images", "table", "arrays", "text", "masks")
PICTURES = "pictures.npy"
"""Optional in a run folder: ``(N, H, W)`` or ``(N, H, W, 3)`` uint8, in the order of the examples."""

AGAIN = "truelabel train DATA LABELS --out RUN --folds 5"
AGAIN_MASKS = "truelabel train DATA --out RUN --folds 5"


@dataclass(frozen=True, eq=False)
class RunFolder:
    """All that a report needs of a run but the inputs themselves.

    Attributes:
        path: the folder.
        kind: "images", "table", "arrays", "text" or "masks"; None if the run does not say.
        source: what ``source.json`` says; empty without one.
        method: its name; likewise ``network``.
        network: its name, or "own".
        classes: ``(K,)`` names.
        examples: ``(N,)`` names, in the order of the inputs.
        people: annotators or readers.
        confusion: ``(R, K, K)`` in the order of ``people``, ``[true, observed]``; None if it was not kept.
        labels: what was said, and how probable; None if it was not kept.
        quality: what ``quality.json`` says; empty without one.
        history: epochs of the training as rows of numbers, and which one was chosen.
        curves: rows of ``metrics.csv`` of every stage, by the name of the stage.
        notes: what the result depends on besides.
        fingerprint: tells this run from others, also from one with other labels in the same folder.
        lacks: what is missing, a sentence each without its full stop.
    """

    path: Path
    kind: str | None
    source: dict[str, Any]
    method: str
    network: str
    classes: list[str]
    examples: list[str]
    people: list[Person]
    confusion: NDArray[np.float64] | None
    labels: LabelRows | None
    quality: dict[str, Any]
    history: dict[str, Any]
    curves: dict[str, list[dict[str, float]]]
    notes: dict[str, Any]
    fingerprint: str
    lacks: list[str] = field(default_factory=list)

    @property
    def again(self) -> str:
        """The command that would give what is missing."""
        return AGAIN_MASKS if self.is_masks else AGAIN

    @property
    def is_masks(self) -> bool:
        """Whether pixels get classes."""
        return self.kind == "masks"


def read_run(folder: str | Path) -> RunFolder:
    """Read what `truelabel train` left; of runs by older versions, what there is.

    Args:
        folder: the run folder.

    Raises:
        truelabel.training.RunFolderError: if it is none, or one of its files is damaged.

    Example:
        >>> read_run("no-such-run")
        Traceback (most recent call last):
        ...
        truelabel.training.files.RunFolderError: no-such-run is no run folder: name one that `truelabel train` wrote
    """
    path = Path(folder)
    if not (path / "model.json").is_file():
        if (path / "run.json").is_file():
            raise RunFolderError(
                f"{path} holds no model yet: let `truelabel train` finish, with the same command again"
            )
        raise RunFolderError(f"{path} is no run folder: name one that `truelabel train` wrote")
    lacks: list[str] = []

    def optional(name: str, read: Callable[[Path], Any], what: str) -> Any:
        if (path / name).is_file():
            return read(path / name)
        lacks.append(f"{name} is missing: {what}")
        return None

    model = _mapping(path / "model.json")
    masks = model.get("kind") == "TrueLabelSegmenter"
    source: dict[str, Any] = {}
    if (path / "source.json").is_file() or not (path / PICTURES).is_file():
        source = optional("source.json", _mapping, "the page does not know where the inputs lie") or {}
    labels: LabelRows | None = optional(
        "label_quality.csv", read_label_rows, "the page cannot say which labels are wrong"
    )
    quality = optional("quality.json", _mapping, "calibration and the share of wrong labels were not measured") or {}
    if labels is not None and labels.suggested is None:
        lacks.append("label_quality.csv has no suggestions: choose classes yourself in the review")
    if quality and not quality.get("out_of_sample"):
        lacks.append("The network has learned from the labels that it judges, so it is too sure of them")
    classes = _as_written(model.get("classes") or quality.get("classes") or [])
    people = optional("annotators.csv", read_people, "the page cannot say whom to trust") or []
    confusion = optional(
        "confusion.csv", lambda file: read_confusion(file, [p.name for p in people], classes), "no confusion matrices"
    )
    kind = source.get("kind") if source.get("kind") in KINDS else ("masks" if masks else None)
    parameters = model.get("parameters") or {}
    return RunFolder(
        path,
        kind,
        source,
        str(parameters.get("method", "unknown")),
        str(parameters.get("network") or "own"),
        classes,
        _examples(path, labels),
        people,
        confusion,
        labels,
        quality,
        model.get("history") or {},
        read_curves(path),
        model.get("notes") or {},
        _fingerprint(path),
        lacks,
    )


def _mapping(file: Path) -> dict[str, Any]:
    found = read_json(file)
    if not isinstance(found, dict):
        raise RunFolderError(f"{file} is damaged: it should hold an object")
    return found


def _as_written(names: list[Any]) -> list[str]:
    """Names of classes as the tables of a run have them: True is true, and 1.0 is 1."""
    import pyarrow as pa

    try:
        written: list[str] = pa.array(names).cast(pa.string()).to_pylist()
    except pa.ArrowException:
        written = [str(name) for name in names]
    return written


def _examples(path: Path, labels: LabelRows | None) -> list[str]:
    if (path / "examples.csv").is_file():
        return read_text_columns(path / "examples.csv").get("example", [])
    return [] if labels is None else list(dict.fromkeys(labels.example))


def _fingerprint(path: Path) -> str:
    """Of what the page is about, so that a review of one run is not taken for that of another."""
    digest = hashlib.sha256()
    for name in ("model.json", "label_quality.csv"):
        digest.update(name.encode())
        if (path / name).is_file():
            with (path / name).open("rb") as file:
                for part in iter(lambda: file.read(1 << 20), b""):
                    digest.update(part)
    return digest.hexdigest()[:20]
