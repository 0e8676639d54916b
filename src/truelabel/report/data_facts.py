"""What was labelled, how often, and how far people agree."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from truelabel import Annotations
from truelabel.metrics import fleiss_kappa, krippendorff_alpha
from truelabel.report.run_folder import RunFolder

WORDS = ((0.8, "almost perfect"), (0.6, "substantial"), (0.4, "moderate"), (0.2, "fair"), (0.0, "slight"))
"""Names for values of kappa and more (Landis and Koch 1977)."""


@dataclass(frozen=True)
class DataFacts:
    """Counts and agreement.

    Attributes:
        examples: how many.
        labels: how many; masks for pixels.
        per_example: how many examples have so many labels, by that number, ascending.
        per_class: labels of each class, in the order of the classes; empty for masks.
        fleiss: Fleiss' kappa; None where it is not defined.
        krippendorff: Krippendorff's alpha; likewise.
    """

    examples: int
    labels: int
    per_example: list[tuple[int, int]]
    per_class: list[tuple[str, int]]
    fleiss: float | None
    krippendorff: float | None


def data_facts(run: RunFolder) -> DataFacts:
    """Of the labels that a run learned from."""
    if run.is_masks or run.labels is None or not len(run.labels):
        given = sum(person.labels for person in run.people)
        return DataFacts(len(run.examples), given, [], [], None, None)
    rows = run.labels
    named = Counter(rows.label.tolist())
    unknown = [name for name in named if name not in set(run.classes)]
    classes = [*run.classes, *unknown]
    each = Counter(rows.example.tolist())
    spread = Counter(each.values())
    silent = len(run.examples) - len(each)
    spread |= Counter({0: silent} if silent > 0 else {})
    table = {"example": rows.example.tolist(), "annotator": rows.annotator.tolist(), "label": rows.label.tolist()}
    several = len(named) > 1 and max(each.values()) > 1
    said = Annotations.from_table(table, classes=classes, duplicates="first") if several else None
    return DataFacts(
        max(len(run.examples), len(each)),
        len(rows),
        sorted(spread.items()),
        [(name, named[name]) for name in classes],
        None if said is None else _defined(fleiss_kappa(said)),
        None if said is None else _defined(krippendorff_alpha(said)),
    )


def agreement_word(value: float) -> str:
    """What a value of kappa is called.

    Example:
        >>> agreement_word(0.7), agreement_word(-0.1)
        ('substantial', 'worse than chance')
    """
    return next((word for least, word in WORDS if value >= least), "worse than chance")


def _defined(value: float) -> float | None:
    return None if math.isnan(value) else value
