"""``truelabel fuse``: one answer from many."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def fuse(
    labels: Annotated[Path, typer.Argument(help="CSV or Parquet with one row a label, or a .npy matrix.")],
    method: Annotated[str, typer.Option(help="How to fuse.")] = "majority-vote",
    out: Annotated[Path | None, typer.Option(help="Folder for consensus, annotators and confusion.")] = None,
    file_format: Annotated[str, typer.Option("--format", help="csv or parquet.")] = "csv",
    example: Annotated[str | None, typer.Option(help="Column of examples; guessed by default.")] = None,
    annotator: Annotated[str | None, typer.Option(help="Column of annotators; guessed by default.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels; guessed by default.")] = None,
    classes: Annotated[str | None, typer.Option(help="All classes in order, separated by commas.")] = None,
    drop_unlabelled: Annotated[
        bool, typer.Option("--drop-unlabelled", help="Leave out examples and annotators without labels.")
    ] = False,
    seed: Annotated[int, typer.Option(help="For ties.")] = 0,
) -> None:
    """Fuse the labels of many annotators into one consensus, and tell how good each annotator is."""
    import numpy as np

    from truelabel.cli.sources import LabelColumns, parse_list
    from truelabel.cli.tables import show, write_columns
    from truelabel.coding import name_array
    from truelabel.fusion import majority_vote

    if method != "majority-vote":
        raise ValueError(f"there is no fusion {method!r}: choose from majority-vote")
    if file_format not in ("csv", "parquet"):
        raise ValueError(f"--format must be csv or parquet, got {file_format!r}")
    annotations = LabelColumns(example, annotator, label, parse_list(classes)).annotations(labels)
    annotations = annotations.labelled() if drop_unlabelled else annotations
    annotations.check_trainable()
    fused = majority_vote(annotations, seed=seed)
    names = name_array(annotations.classes)
    rows = np.arange(len(fused.labels))
    consensus = {
        "example": annotations.examples,
        "label": names[fused.labels],
        "probability": fused.posterior[rows, fused.labels],
        "labels": annotations.counts,
    }
    agree = fused.labels[annotations.example] == annotations.label
    agreement = np.bincount(annotations.annotator, weights=agree, minlength=len(annotations.annotators))
    annotators = {
        "annotator": annotations.annotators,
        "labels": annotations.workload,
        "agreement": agreement / annotations.workload,
    }
    order = np.argsort(-annotators["agreement"], kind="stable")
    shown = order if len(order) <= 12 else np.concatenate([order[:6], order[-6:]])
    show(
        ["annotator", "labels", "agrees with the consensus (own vote included)"],
        [[annotators["annotator"][i], annotators["labels"][i], f"{annotators['agreement'][i]:.1%}"] for i in shown],
        title=f"{annotations}" if len(shown) == len(order) else f"{annotations}: the six who agree most and least",
        right=1,
    )
    if out is None:
        typer.echo("Nothing was written; name a folder with --out to keep the consensus.")
        return
    k = len(names)
    write_columns(consensus, out / f"consensus.{file_format}")
    write_columns(annotators, out / f"annotators.{file_format}")
    write_columns(
        {
            "annotator": np.repeat(annotations.annotators, k * k),
            "true": np.tile(np.repeat(names, k), len(annotations.annotators)),
            "observed": np.tile(names, k * len(annotations.annotators)),
            "probability": fused.confusion.ravel(),
        },
        out / f"confusion.{file_format}",
    )
    typer.echo(f"Wrote consensus, annotators and confusion to {out}")
