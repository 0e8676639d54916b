"""A run folder: a classifier that was trained from the user's files, and what it says of labels and annotators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from truelabel import Annotations, TrueLabelClassifier
    from truelabel.cli.sources import Inputs


def parse_options(pairs: list[str]) -> dict[str, Any]:
    """``name=value`` each; values are JSON, or else text."""
    import json

    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise ValueError(f"--option must be name=value, got {pair!r}")
        try:
            options[name.replace("-", "_")] = json.loads(text)
        except ValueError:
            options[name.replace("-", "_")] = text
    return options


def train_run(classifier: TrueLabelClassifier, inputs: Inputs, annotations: Annotations, out: Path) -> None:
    """Train, or go on with what the folder holds, and keep all that `truelabel predict` needs.

    Args:
        classifier: its ``folder`` is ``out``.
        inputs: of the examples of ``annotations``, in the same order.
        annotations: what was said.
        out: the run folder.
    """
    from truelabel.cli.fusion_folder import MOST_CELLS, confusion_table
    from truelabel.cli.tables import write_columns

    classifier.fit(inputs.values, annotations)
    classifier.save(out)
    inputs.reading.save(out)
    write_columns(
        {
            "example": annotations.examples[annotations.example],
            "annotator": annotations.annotators[annotations.annotator],
            "label": classifier.classes_[annotations.label],
            "probability_right": classifier.label_quality(inputs.values, annotations),
        },
        out / "label_quality.csv",
    )
    write_columns(
        {
            "annotator": annotations.annotators,
            "labels": annotations.workload,
            "skill": classifier.annotator_skill_,
            "skill_low": classifier.annotator_skill_interval_[:, 0],
            "skill_high": classifier.annotator_skill_interval_[:, 1],
        },
        out / "annotators.csv",
    )
    if classifier.confusion_.size <= MOST_CELLS:
        ends = classifier.confusion_interval(inputs.values, annotations)
        write_columns(confusion_table(annotations, classifier.confusion_, ends), out / "confusion.csv")


def show_run(classifier: TrueLabelClassifier, annotations: Annotations, out: Path) -> None:
    """Print what came of :func:`train_run`."""
    from truelabel.cli.tables import show

    history, method = classifier.history_, classifier.method_
    rows: list[list[Any]] = [
        ["epochs", len(history.rows)],
        ["training loss, last epoch", f"{history.rows[-1]['train_loss']:.4f}"],
    ]
    if history.best_epoch is not None:
        rows.append(["best epoch", history.best_epoch])
        rows.append(["agreement with held-out noisy labels", f"{history.best('valid_accuracy'):.1%}"])
    for name, value in classifier.notes_.items():
        rows.append([name.replace("_", " "), value])
    if classifier.search:
        rows.append(["options chosen", ", ".join(f"{k}={v}" for k, v in method.options().items())])
    rows.append(["annotator skill, lowest to highest", _range(classifier.annotator_skill_)])
    typer.echo(f"{method.name} on {annotations}")
    show([method.name, "value"], rows, right=1)
    typer.echo(f"Wrote the run to {out}: model, metrics, label_quality.csv, annotators.csv, confusion.csv")


def _range(skill: Any) -> str:
    return f"{skill.min():.1%} to {skill.max():.1%}" if len(skill) > 1 else f"{skill[0]:.1%}"
