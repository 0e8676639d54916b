"""``truelabel import``: labels and masks from the files of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truelabel.cli.sources import parse_list, require_existing

if TYPE_CHECKING:
    from truelabel import Annotations
    from truelabel.data.exchange import Drawn

TABLES = (".csv", ".parquet")
FROM_HELP = "label-studio, doccano, cvat, coco, crowd-kit or peerannot; guessed where nothing else can be meant."


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(help="Files of the tool. Of cvat, coco and doccano each file is one annotator, called like it."),
    ],
    out: Annotated[
        Path, typer.Option(help="Table of labels to write, .csv or .parquet; or for masks a new folder, one a reader.")
    ],
    tool: Annotated[str | None, typer.Option("--from", help=FROM_HELP)] = None,
    images: Annotated[
        Path | None, typer.Option(help="Masks: folder of the pictures, which are copied to OUT/images.")
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="Label Studio: name of the choices, where a project asks several things.")
    ] = None,
    example: Annotated[
        str | None, typer.Option(help="Label Studio: field of the data that names examples; the picture by default.")
    ] = None,
    classes: Annotated[
        str | None, typer.Option(help="Labels: all classes in order, separated by commas; those found by default.")
    ] = None,
) -> None:
    """Read labels or masks from the files of another tool, and write them as `truelabel train` reads them."""
    from truelabel.cli.mask_study import write_study
    from truelabel.cli.runs import refuse
    from truelabel.data.exchange import guess_tool
    from truelabel.data.exchange.guess import TOOLS, refuse_archives

    require_existing(*files, images)
    refuse_archives(files)
    tool = guess_tool(files) if tool is None else tool
    if tool not in TOOLS:
        raise ValueError(f"--from {tool} is unknown: pass one of {', '.join(TOOLS)}")
    if tool != "label-studio":
        refuse({"--question": question, "--example": example}, f"for label-studio, not {tool}: leave it out")
    if out.suffix.lower() in TABLES:
        refuse({"--images": images}, "for masks, which go to a folder: leave it out, or name a folder as --out")
        annotations = read_labels(tool, files, question, example, parse_list(classes))
        out.parent.mkdir(parents=True, exist_ok=True)
        annotations.to_table(out)
        typer.echo(f"Read {annotations}\nWrote {annotations.size} labels to {out}")
        return
    refuse({"--question": question, "--classes": classes}, "for labels: name a table as --out, or leave it out")
    drawn = read_masks(tool, files, example)
    write_study(drawn, out, images)
    names = ",".join(f"{code}={name}" for code, name in enumerate(drawn.classes))
    typer.echo(f"Wrote {len(drawn)} masks of {len(drawn.images)} pictures by {len(drawn.readers)} readers to {out}")
    typer.echo(f'Classes, for --classes: "{names}"')
    if images is None:
        typer.echo(f"Put the pictures into {out / 'images'} to train on them, or name their folder with --images")


def read_labels(
    tool: str, files: list[Path], question: str | None, example: str | None, classes: list[str] | None
) -> Annotations:
    """Labels of whole examples from the files of a tool."""
    from truelabel.data import exchange

    if tool == "label-studio":
        return exchange.read_label_studio(files, question=question, example=example, classes=classes)
    if tool == "coco":
        raise ValueError("COCO's files hold masks, not labels: name a folder as --out, without .csv")
    if tool in ("crowd-kit", "peerannot"):
        if len(files) > 1:
            raise ValueError(f"{tool} has all labels in one file, but {len(files)} are named: import one at a time")
        read: Any = exchange.read_crowd_kit if tool == "crowd-kit" else exchange.read_peerannot
        labels: Annotations = read(files[0], classes=classes)
        return labels
    return (exchange.read_doccano if tool == "doccano" else exchange.read_cvat)(files, classes=classes)


def read_masks(tool: str, files: list[Path], example: str | None) -> Drawn:
    """Masks from the files of a tool."""
    from truelabel.data import exchange

    if tool == "label-studio":
        return exchange.read_label_studio_masks(files, example=example)
    if tool not in ("cvat", "coco"):
        raise ValueError(f"{tool} has labels, not masks: end --out in .csv or .parquet")
    return (exchange.read_cvat_masks if tool == "cvat" else exchange.read_coco)(files)
