"""How the training went, stage by stage."""

from __future__ import annotations

import math
from typing import NamedTuple

from markupsafe import Markup

from truelabel.report.charts import Line, curve_chart
from truelabel.report.run_folder import RunFolder

MOST_STAGES = 12
"""Methods with rounds may have many; the last ones tell most."""


class Stage(NamedTuple):
    """One stage of a training: its name, epochs, and drawings of losses and of agreement with held-out labels."""

    name: str
    epochs: int
    losses: Markup
    agreement: Markup


def training_curves(run: RunFolder) -> list[Stage]:
    """Of every stage that kept its numbers, in order; of a run without any, those of its model."""
    kept = run.curves or ({"main": run.history["rows"]} if run.history.get("rows") else {})
    stages = []
    for name, rows in list(kept.items())[-MOST_STAGES:]:
        columns = {key: [float(row.get(key, math.nan)) for row in rows] for key in rows[0]} if rows else {}
        losses = [
            Line(title, columns[key], colour)
            for colour, (key, title) in enumerate((("train_loss", "training"), ("valid_loss", "held out")), 1)
            if key in columns
        ]
        held_out = [Line("held out", columns["valid_accuracy"], 2)] if "valid_accuracy" in columns else []
        stages.append(
            Stage(
                name,
                len(rows),
                curve_chart(losses, f"loss of stage {name}: {_ends(columns.get('train_loss', []))}"),
                curve_chart(
                    held_out,
                    f"agreement with held-out labels in stage {name}: {_ends(columns.get('valid_accuracy', []))}",
                    percent=True,
                ),
            )
        )
    return stages


def _ends(values: list[float]) -> str:
    known = [value for value in values if math.isfinite(value)]
    return f"from {known[0]:.3g} to {known[-1]:.3g}" if known else "not kept"
