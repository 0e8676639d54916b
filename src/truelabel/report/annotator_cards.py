"""What is to be said of each annotator: skill, confusion, and the mistakes that tell most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from truelabel.report.run_folder import RunFolder
from truelabel.report.run_tables import Person

MOST_CLASSES = 20
"""Of a heat map; above that only the mistakes are listed."""

MOST_CARDS = 40
"""Of many annotators, the least and the most skilled get a card."""

LISTED = 5
"""Mistakes on a card."""

LEAST = 0.05
"""A mistake that is rarer is not worth a line."""


class Mistake(NamedTuple):
    """What somebody calls a class that is another one, and how often."""

    true: str
    observed: str
    probability: float


@dataclass(frozen=True)
class Card:
    """One annotator.

    Attributes:
        person: name, labels, skill.
        mistakes: the most frequent, descending.
        matrix: rows of the confusion matrix; None where it is unknown or too large.
        doubted: how many of the labels are suspected; None if the run does not say.
    """

    person: Person
    mistakes: list[Mistake]
    matrix: list[list[float]] | None
    doubted: int | None


def annotator_cards(run: RunFolder) -> list[Card]:
    """A card for each annotator, the least skilled first; of many, the ends."""
    order = sorted(range(len(run.people)), key=lambda i: run.people[i].skill)
    if len(order) > MOST_CARDS:
        order = order[: MOST_CARDS // 2] + order[-MOST_CARDS // 2 :]
    doubted = doubted_labels(run)
    cards = []
    for i in order:
        cells = None if run.confusion is None or not np.isfinite(run.confusion[i]).all() else run.confusion[i]
        drawn = cells is not None and len(run.classes) <= MOST_CLASSES
        cards.append(
            Card(
                run.people[i],
                [] if cells is None else telling_mistakes(cells, run.classes),
                cells.tolist() if drawn and cells is not None else None,
                None if doubted is None else doubted.get(run.people[i].name, 0),
            )
        )
    return cards


def doubted_labels(run: RunFolder) -> dict[str, int] | None:
    """How many labels of each annotator are suspected, by name; None if the run does not say."""
    if run.labels is None:
        return None
    names, counts = np.unique(run.labels.annotator[run.labels.doubted].astype(str), return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def telling_mistakes(confusion: NDArray[np.float64], classes: list[str], most: int = LISTED) -> list[Mistake]:
    """The largest cells of ``(K, K)`` off its diagonal, at least ``LEAST``, descending.

    Example:
        >>> telling_mistakes(np.array([[0.7, 0.3], [0.0, 1.0]]), ["cat", "dog"])
        [Mistake(true='cat', observed='dog', probability=0.3)]
    """
    wrong = confusion.copy()
    np.fill_diagonal(wrong, 0)
    flat = np.argsort(-wrong, axis=None, kind="stable")[:most]
    cells = [divmod(int(place), len(classes)) for place in flat]
    return [
        Mistake(classes[true], classes[observed], float(wrong[true, observed]))
        for true, observed in cells
        if wrong[true, observed] >= LEAST
    ]
