"""``truelabel methods``: what there is."""

from __future__ import annotations

from typing import Annotated

import typer


def methods(
    as_json: Annotated[
        bool, typer.Option("--json", help="Machine-readable, with every option and its default.")
    ] = False,
) -> None:
    """List the methods: name, what it does, task, where it comes from."""
    import json

    from truelabel.methods import METHODS

    if as_json:
        described = [
            {
                "name": method.name,
                "summary": method.summary,
                "paper": method.paper,
                "tasks": list(method.tasks),
                "options": method.options(),
            }
            for method in METHODS.values()
        ]
        typer.echo(json.dumps(described, indent=2))
        return
    from truelabel.cli.tables import show

    rows = [
        [method.name, method.summary, "yes" if "segmentation" in method.tasks else "no", method.paper]
        for method in METHODS.values()
    ]
    show(["method", "what it does", "pixels too", "from"], rows)
