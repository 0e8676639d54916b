"""``truelabel ask``: whom to ask about what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli.mask_reading import CLASSES_HELP
from truelabel.cli.runs import refuse

if TYPE_CHECKING:
    from truelabel.cli.ask_sources import Known
    from truelabel.quality.ask import Questions

SHOWN = 10
"""Questions that are shown in the terminal."""

TABLE = "Labels without a run"


def ask(
    source: Annotated[
        Path,
        typer.Argument(
            help="Run folder of `truelabel train`; or labels alone, as for `truelabel fuse`: CSV, Parquet or .npy.",
            metavar="RUN|LABELS",
        ),
    ],
    budget: Annotated[float, typer.Option(help="What the labels may cost together; their number, without --costs.")],
    costs: Annotated[
        Path | None, typer.Option(help="Table with columns annotator and cost; who is not in it costs 1.")
    ] = None,
    capacity: Annotated[int | None, typer.Option(help="Labels that each annotator can give at most.")] = None,
    per_example: Annotated[int | None, typer.Option(help="New labels of an example at most.")] = None,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="Somebody may be asked again about what they labelled.")
    ] = False,
    pool: Annotated[
        Path | None, typer.Option(help="Further examples without labels: read as the data of the run.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Table to write, .csv or .parquet.")] = None,
    example: Annotated[
        str | None, typer.Option(help="Column of examples; guessed by default.", rich_help_panel=TABLE)
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Column of annotators; guessed by default.", rich_help_panel=TABLE)
    ] = None,
    label: Annotated[
        str | None, typer.Option(help="Column of labels; guessed by default.", rich_help_panel=TABLE)
    ] = None,
    classes: Annotated[str | None, typer.Option(help=CLASSES_HELP, rich_help_panel=TABLE)] = None,
    wide: Annotated[
        bool, typer.Option("--wide", help="One row an example, one column an annotator.", rich_help_panel=TABLE)
    ] = False,
    annotators: Annotated[
        str | None, typer.Option(help="Wide table: the columns of labels, with commas.", rich_help_panel=TABLE)
    ] = None,
) -> None:
    """Rank pairs of example and annotator by what a label would tell about the true class, for its cost.

    Nobody is asked again for a label that they gave. Ask in rounds: a few hundred labels, train again, ask again.
    """
    from truelabel.cli import ask_sources
    from truelabel.cli.sources import LabelColumns, require_existing
    from truelabel.cli.tables import check_output, write_columns
    from truelabel.quality.ask import ask as choose

    require_existing(source, costs, pool)
    if out is not None:
        check_output(out)
    if source.is_dir():
        table: dict[str, Any] = {"--example": example, "--annotator": annotator, "--label": label, "--classes": classes}
        table |= {"--wide": wide or None, "--annotators": annotators}
        refuse(table, f"for labels in a table, but {source} is a run: leave it out")
        known = ask_sources.known_from_run(source, pool)
    else:
        refuse({"--pool": pool}, f"for a run, whose network knows further examples, but {source} is a table")
        columns = LabelColumns.parse(example, annotator, label, classes, wide, annotators)
        known = ask_sources.known_from_labels(source, columns)
    said = known.annotations
    questions = choose(
        known.posterior,
        known.confusion,
        budget,
        annotations=said,
        costs=ask_sources.read_costs(costs, said.annotators),
        capacity=known.capacity(capacity),
        per_example=per_example,
        repeat=repeat,
    )
    _show(questions, known)
    _tell(questions, known, budget, capacity)
    if out is None:
        typer.echo("Nothing was written; name a file with --out to keep the questions.")
        return
    write_columns(
        {
            "example": said.examples[questions.example],
            "annotator": said.annotators[questions.annotator],
            "gain_bits": questions.gain,
            "cost": questions.cost,
        },
        out,
    )
    typer.echo(f"Wrote {len(questions)} questions to {out}")


def _show(questions: Questions, known: Known) -> None:
    from truelabel.cli.tables import show

    said, rows = known.annotations, range(min(SHOWN, len(questions)))
    table = [
        [
            said.examples[questions.example[i]],
            said.annotators[questions.annotator[i]],
            f"{questions.gain[i]:.3f}",
            f"{questions.cost[i]:g}",
        ]
        for i in rows
    ]
    typer.echo(known.origin)
    if len(questions):
        show(["example", "annotator", "gain, bits", "cost"], table, right=2)
    if len(questions) > SHOWN:
        typer.echo(f"These are the first {SHOWN} of {len(questions)} questions.")


def _tell(questions: Questions, known: Known, budget: float, capacity: int | None) -> None:
    """How many labels by whom, what they are expected to tell, and why they are no more."""
    import numpy as np

    spent = questions.cost.sum()
    if len(questions):
        annotators = known.annotations.annotators
        labels = np.bincount(questions.annotator, minlength=len(annotators))
        busiest = np.argsort(-labels, kind="stable")[: min(5, int((labels > 0).sum()))]
        people = ", ".join(f"{annotators[r]} {labels[r]}" for r in busiest)
        rest = int((labels > 0).sum()) - len(busiest)
        people += f" and {rest} more" if rest else ""
        q = known.posterior
        doubt = -(q * np.log2(np.maximum(q, np.finfo(np.float64).tiny))).sum()
        typer.echo(
            f"{len(questions)} labels of {len(set(questions.example.tolist()))} examples for {spent:g}, by {people}"
        )
        typer.echo(
            f"They are expected to tell {questions.gain.sum():.1f} bits about the true classes, of {doubt:.1f} bits "
            f"of doubt about {len(q)} examples"
        )
        if capacity is None and len(questions) > SHOWN and len(annotators) > 2 and labels.max() > len(questions) / 2:
            typer.echo(
                f"Most go to {annotators[busiest[0]]}: if you are not sure how good they are, spread the questions "
                "with --capacity"
            )
    if spent < budget:
        typer.echo(
            f"{budget - spent:g} of the budget is left: nobody else fits it, has time, or would tell anything new"
        )
