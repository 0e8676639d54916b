"""``truelabel methods``: what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from truelabel.methods import Method


def methods(
    as_json: Annotated[
        bool, typer.Option("--json", help="Machine-readable, with every option and its default.")
    ] = False,
) -> None:
    """List the methods: name, what it does, whether for examples, pixels or both, where it comes from."""
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

    rows = [[method.name, method.summary, _task(method), method.paper] for method in METHODS.values()]
    show(["method", "what it does", "task", "from"], rows)


def _task(method: Method) -> str:
    names = {"classification": "examples", "segmentation": "pixels"}
    return "both" if len(method.tasks) > 1 else names[method.tasks[0]]
