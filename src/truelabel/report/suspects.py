"""The labels to look at first."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from truelabel.report.run_folder import RunFolder

MOST_OTHERS = 12
"""Labels of the same example that are shown beside a suspect."""


class Suspect(NamedTuple):
    """A label that is probably wrong.

    Attributes:
        example: its name; likewise ``annotator``.
        annotator: who said it.
        label: what was said.
        probability: that it is right.
        suggested: the most probable class; None if the run has none.
        suggested_probability: of it.
        others: what others said of the same example: who, and what.
        region: of a mask; None for a whole example.
        place: where the region is, by the names in :data:`truelabel.report.label_rows.PLACES`.
    """

    example: str
    annotator: str
    label: str
    probability: float
    suggested: str | None
    suggested_probability: float | None
    others: list[tuple[str, str]]
    region: str | None
    place: dict[str, int]


def count_suspects(run: RunFolder) -> int | None:
    """How many labels are suspected in all; None if the run does not say."""
    return None if run.labels is None else int(_chosen(run).sum())


def find_suspects(run: RunFolder, top: int) -> list[Suspect]:
    """The least probable labels, at most ``top``."""
    rows = run.labels
    if rows is None:
        return []
    chosen = np.flatnonzero(_chosen(run))
    # Stable, so that equal probabilities stay in the order of the labels.
    chosen = chosen[np.argsort(rows.probability[chosen], kind="stable")][:top]
    shown = set(rows.example[chosen].tolist())
    said: dict[str, list[tuple[int, str, str]]] = {}
    if rows.region is None:
        for i in np.flatnonzero([name in shown for name in rows.example]).tolist():
            said.setdefault(rows.example[i], []).append((i, rows.annotator[i], rows.label[i]))
    suspects = []
    for i in chosen.tolist():
        sure = None if rows.suggested_probability is None else float(rows.suggested_probability[i])
        suspects.append(
            Suspect(
                rows.example[i],
                rows.annotator[i],
                rows.label[i],
                float(rows.probability[i]),
                None if rows.suggested is None else rows.suggested[i],
                sure if sure is not None and np.isfinite(sure) else None,
                [(who, what) for j, who, what in said.get(rows.example[i], []) if j != i][:MOST_OTHERS],
                None if rows.region is None else rows.region[i],
                {name: int(values[i]) for name, values in rows.places.items() if values[i] >= 0},
            )
        )
    return suspects


def _chosen(run: RunFolder) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Of masks every region that is listed; nothing without a probability."""
    assert run.labels is not None
    known = np.isfinite(run.labels.probability)
    return np.asarray(known if run.labels.region is not None else known & run.labels.doubted)
