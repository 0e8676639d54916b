"""``truelabel report``: one HTML page about a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def report(
    run: Annotated[Path, typer.Argument(help="A folder that `truelabel train` wrote.")],
    out: Annotated[Path | None, typer.Option(help="The page; report.html in RUN by default.")] = None,
    top: Annotated[int, typer.Option(help="Suspect labels in the gallery, at most.")] = 500,
    thumbnails: Annotated[int, typer.Option(help="How many of these get a picture, at most; 0 for none.")] = 500,
) -> None:
    """Write one self-contained page about a run: whom to trust, which labels to look at, and a review of them."""
    write_page(run, out, top, thumbnails)


def write_page(run: Path, out: Path | None = None, top: int = 500, thumbnails: int = 500) -> None:
    """Write the page and say where it is; see :func:`report`."""
    from truelabel.report import write_report

    written = write_report(run, out, top=top, thumbnails=thumbnails)
    for note in written.notes:
        typer.echo(note)
    of = "" if written.suspected is None else f" of {written.suspected:,}"
    size, shown = written.path.stat().st_size / 1e6, f"{written.suspects:,}{of} suspects"
    typer.echo(
        f"Wrote {written.path} ({size:.1f} MB): {shown}, {written.pictures:,} with a picture.\n"
        "Open it in a browser; export decisions.csv there after the review."
    )
