"""A run folder: a classifier that was trained from the user's files, and what it says of labels and annotators."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from truelabel import Annotations, TrueLabelClassifier
    from truelabel.cli.run_quality import Source
    from truelabel.cli.sources import Inputs
    from truelabel.estimators.trained import Trained

TABLES = ("label_quality.csv", "annotators.csv", "confusion.csv")
"""What lies in the run folder of a classifier besides the model."""


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


def refuse(given: dict[str, Any], why: str) -> None:
    """Raise a one-line ValueError if one of these options has a value."""
    wrong = next((name for name, value in given.items() if value is not None), None)
    if wrong is not None:
        raise ValueError(f"{wrong} is {why}")


def train_run(
    classifier: TrueLabelClassifier, inputs: Inputs, annotations: Annotations, out: Path, source: Source, folds: int = 0
) -> None:
    """Train, or go on with what the folder holds, and keep all that `truelabel predict` needs.

    Args:
        classifier: its ``folder`` is ``out``.
        inputs: of the examples of ``annotations``, in the same order.
        annotations: what was said.
        out: the run folder.
        source: where they came from.
        folds: judge labels by so many networks that have not seen them; 0 for the one that has.
    """
    classifier.fit(inputs.values, annotations)
    classifier.save(out)
    inputs.reading.save(out)
    source.save(out)
    write_run_tables(classifier, inputs.values, annotations, out, folds, source.reviewer)
    if folds:
        classifier.save(out)  # with what cross-validation said


def write_run_tables(
    classifier: TrueLabelClassifier,
    inputs: NDArray[Any],
    annotations: Annotations,
    out: Path,
    folds: int,
    reviewer: str | None = None,
) -> None:
    """What a classifier says of annotators and labels, which reports and questions are made from.

    Args:
        classifier: fitted to the rest.
        inputs: ``(N, ...)``.
        annotations: of the same examples.
        out: the run folder.
        folds: see :func:`train_run`.
        reviewer: an annotator whose word is the truth; None if nothing was reviewed.
    """
    from truelabel.cli.fusion_folder import MOST_CELLS, confusion_table
    from truelabel.cli.run_quality import write_quality
    from truelabel.cli.tables import write_columns

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
        ends = classifier.confusion_interval(inputs, annotations)
        write_columns(confusion_table(annotations, classifier.confusion_, ends), out / "confusion.csv")
    write_quality(classifier, inputs, annotations, out, folds, reviewer)


def show_run(estimator: Trained, about: object, out: Path, tables: Iterable[str] = TABLES) -> None:
    """Print what came of a training.

    Args:
        estimator: what was trained.
        about: what it was trained on.
        out: the run folder.
        tables: what lies there besides.
    """
    from truelabel.cli.run_quality import show_suspects
    from truelabel.cli.tables import show

    history, method = estimator.history_, estimator.method_
    rows: list[list[Any]] = [
        ["epochs", len(history.rows)],
        ["training loss, last epoch", f"{history.rows[-1]['train_loss']:.4f}"],
    ]
    if history.best_epoch is not None:
        rows.append(["best epoch", history.best_epoch])
        rows.append(["agreement with held-out noisy labels", f"{history.best('valid_accuracy'):.1%}"])
    for name, value in estimator.notes_.items():
        rows.append([name.replace("_", " "), value])
    if estimator.search:
        rows.append(["options chosen", ", ".join(f"{k}={v}" for k, v in method.options().items())])
    rows.append(["annotator skill, lowest to highest", _range(estimator.annotator_skill_)])
    typer.echo(f"{method.name} on {about}")
    show([method.name, "value"], rows, right=1)
    if (out / "label_quality.csv").exists():
        show_suspects(out)
    typer.echo(f"Wrote the run to {out}: {', '.join(['model', 'metrics', *tables])}")


def _range(skill: Any) -> str:
    return f"{skill.min():.1%} to {skill.max():.1%}" if len(skill) > 1 else f"{skill[0]:.1%}"
