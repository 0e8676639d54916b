"""``truelabel export``: labels, masks and what a run suspects, to the files of other tools."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli.label_columns import LabelColumns
from truelabel.cli.sources import require_existing

if TYPE_CHECKING:
    from truelabel.cli.mask_sources import MaskSource
    from truelabel.data.exchange import DrawnMask

TOOLS = ("label-studio", "crowd-kit", "peerannot", "coco")


def export(
    source: Annotated[
        Path, typer.Argument(help="Run folder, table of labels, or folder of images and masks of several readers.")
    ],
    to: Annotated[str, typer.Option(help=f"{', '.join(TOOLS[:-1])} or {TOOLS[-1]}.")],
    out: Annotated[
        Path, typer.Option(help="File to write: .json for label-studio, .csv for crowd-kit; else a folder.")
    ],
    classes: Annotated[
        str | None, typer.Option(help="Masks: what their numbers are called, like 0=background,1=cell.")
    ] = None,
    example: Annotated[str | None, typer.Option(help="Table: column of examples; guessed by default.")] = None,
    annotator: Annotated[str | None, typer.Option(help="Table: column of annotators.")] = None,
    label: Annotated[str | None, typer.Option(help="Table: column of labels.")] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Table: a row an example, a column a person.")] = False,
    annotators: Annotated[str | None, typer.Option(help="Wide table: the columns of labels, with commas.")] = None,
    limit: Annotated[int | None, typer.Option(help="A run: at most so many suspects.", min=1)] = None,
    question: Annotated[
        str, typer.Option(help="Label Studio: name of the tag that asks, as in its labelling interface.")
    ] = "label",
    prefix: Annotated[
        str | None, typer.Option(help="Label Studio: what stands before the names of pictures; by default local files.")
    ] = None,
) -> None:
    """Write labels or masks as another tool reads them.

    A run for label-studio gives its suspects as predictions: a task for each, with the class or mask that is believed.
    """
    from truelabel.data.exchange import TaskWriting

    require_existing(source)
    if to not in TOOLS:
        raise ValueError(f"--to {to} is unknown: pass one of {', '.join(TOOLS)}")
    writing = TaskWriting(question) if prefix is None else TaskWriting(question, prefix)
    is_run = source.is_dir() and (source / "label_quality.csv").is_file()
    if limit is not None and not (is_run and to == "label-studio"):
        raise ValueError("--limit is for the suspects of a run, to label-studio: leave it out")
    if classes is not None and (is_run or not source.is_dir()):
        raise ValueError("--classes is for a folder of masks: leave it out")
    if to == "label-studio" and out.suffix.lower() != ".json":
        raise ValueError(f"--out {out} must end in .json")
    if is_run and to == "label-studio":
        wrote = _suspects(source, out, limit, writing)
    elif source.is_dir() and not is_run:
        wrote = _masks(source, to, out, classes, writing)
    else:
        columns = LabelColumns.parse(example, annotator, label, None, wide, annotators)
        wrote = _labels(source / "label_quality.csv" if is_run else source, to, out, writing, columns)
    typer.echo(f"Wrote {wrote} to {out}")


def _suspects(run: Path, out: Path, limit: int | None, writing: Any) -> str:
    from truelabel.cli.run_suspects import suggestions
    from truelabel.data.exchange import write_predictions
    from truelabel.training.files import read_json

    found, writing = suggestions(run, writing, limit)
    note = read_json(run / "run.json") if (run / "run.json").is_file() else {}
    write_predictions(found, out, f"truelabel {note.get('method', '')}".strip(), writing)
    return f"{len(found)} suspects as predictions"


def _labels(table: Path, to: str, out: Path, writing: Any, columns: LabelColumns) -> str:
    from truelabel.data import exchange
    from truelabel.frames import Table

    if to == "coco":
        raise ValueError(f"COCO's files hold masks, but {table} holds labels: pass --to label-studio or crowd-kit")
    if "region" in Table(table).columns:
        raise ValueError(f"{table.parent} is a run on masks, which {to} has no place for: pass --to label-studio")
    annotations = columns.annotations(table)
    if to == "label-studio":
        exchange.write_label_studio(annotations, out, writing)
    elif to == "crowd-kit":
        out.parent.mkdir(parents=True, exist_ok=True)
        exchange.write_crowd_kit(annotations, out)
    else:
        exchange.write_peerannot(annotations, out)
    return f"{annotations.size} labels"


def _masks(folder: Path, to: str, out: Path, classes: str | None, writing: Any) -> str:
    from truelabel.cli.fusion_folder import staged
    from truelabel.cli.mask_reading import MaskReading
    from truelabel.cli.mask_sources import find_masks
    from truelabel.data import exchange

    if to not in ("coco", "label-studio"):
        raise ValueError(f"{to} has no place for masks, which {folder} holds: pass --to coco or label-studio")
    if out.exists() and to == "coco":
        raise ValueError(f"--out {out} is there already: name a new folder")
    masks = find_masks([folder], MaskReading.parse(None, None, None, None, classes, None))
    if to == "label-studio":
        exchange.write_label_studio_masks(_drawn(masks), masks.classes, out, writing)
    else:
        with staged(out) as part:
            exchange.write_coco(_drawn(masks), masks.classes, part)
    return f"{masks.masks} masks"


def _drawn(masks: MaskSource) -> Iterator[DrawnMask]:
    """All masks, one picture in memory at a time."""
    from truelabel.data.exchange import DrawnMask

    for image in masks.images():
        said = image.masks
        for annotator, mask in zip(said.annotator, said.label, strict=True):
            yield DrawnMask(f"{image.name}{image.ending}", str(said.annotators[annotator]), mask)
