"""``truelabel methods``."""

from __future__ import annotations

import json
from collections.abc import Callable

from truelabel.methods import METHODS

Cli = Callable[..., tuple[int, str, str]]


def test_json_says_everything(cli: Cli) -> None:
    code, printed, errors = cli("methods", "--json")
    assert (code, errors) == (0, "")
    described = json.loads(printed)
    assert [entry["name"] for entry in described] == list(METHODS)
    for entry in described:
        method = METHODS[entry["name"]]
        assert entry == {
            "name": method.name,
            "summary": method.summary,
            "paper": method.paper,
            "tasks": list(method.tasks),
            "options": json.loads(json.dumps(method.options())),
        }


def test_the_table_has_a_line_for_each(cli: Cli) -> None:
    code, printed, errors = cli("methods")
    assert (code, errors) == (0, "")
    for method in METHODS.values():
        (line,) = (line for line in printed.splitlines() if line.startswith(f"│ {method.name} "))
        assert method.summary in line
        assert method.paper in line
        tasks: dict[tuple[str, ...], str] = {("classification",): "examples", ("segmentation",): "pixels"}
        assert f"│ {tasks.get(method.tasks, 'both')} " in line
