"""``truelabel data``: where data sets are, and how they get there."""

from __future__ import annotations

from typing import Annotated

import typer

app = typer.Typer(help="Data sets that the library knows: where they are, and how to get them.", no_args_is_help=True)


@app.command("list")
def list_() -> None:
    """List the data sets that can be fetched, and whether they are there."""
    from truelabel.cli.tables import show
    from truelabel.data import SOURCES, data_root

    root = data_root()
    rows = []
    for name, sources in SOURCES.items():
        there = all((root / source.path).exists() for source in sources)
        rows.append([name, "yes" if there else "no", ", ".join(source.path for source in sources)])
    show(["name", "fetched", "files under the data root"], rows, title=f"Data root: {root}")


@app.command()
def where() -> None:
    """Print the data root: the folder TRUELABEL_DATA names, or the user's cache."""
    from truelabel.data import data_root

    typer.echo(data_root())


@app.command()
def fetch(
    name: Annotated[str, typer.Argument(help="Name as in `truelabel data list`.")],
) -> None:
    """Download a data set into the data root and verify its checksum."""
    from truelabel.data import fetch as fetch_files

    for path in fetch_files(name):
        typer.echo(path)
