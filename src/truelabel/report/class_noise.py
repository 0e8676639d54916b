"""Which classes are labelled wrongly, for what they are taken, and whether that can be told at all."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from truelabel.metrics import undominated_classes
from truelabel.report.run_folder import RunFolder


class ClassNoise(NamedTuple):
    """A class: how often it gets another name, and how often its name is wrong.

    Attributes:
        name: of the class.
        mistaken: share of what truly is of this class that is called otherwise; None if unknown.
        called: what it is called then most often, and how often; None if never.
        labels: how many labels say this class; None if unknown.
        wrong: share of these that are probably wrong; None if unknown.
        really: what the suspected of them most often are instead; None if there are none.
    """

    name: str
    mistaken: float | None
    called: tuple[str, float] | None
    labels: int | None
    wrong: float | None
    really: tuple[str, int] | None


def class_noise(run: RunFolder) -> list[ClassNoise]:
    """Of every class, the one with most wrong labels first."""
    mean = _mean_confusion(run)
    rows = []
    for place, name in enumerate(run.classes):
        mistaken = None if mean is None else float(1 - mean[place, place])
        called = None
        if mean is not None and len(run.classes) > 1:
            other = mean[place].copy()
            other[place] = -1
            worst = int(other.argmax())
            called = (run.classes[worst], float(other[worst])) if other[worst] > 0.005 else None
        rows.append(ClassNoise(name, mistaken, called, *_said(run, name)))
    return sorted(rows, key=lambda row: -((row.mistaken if row.wrong is None else row.wrong) or 0))


def unidentified(run: RunFolder) -> list[str]:
    """Classes whose confusion cannot be told from the labels; see :func:`truelabel.metrics.undominated_classes`."""
    if run.confusion is None:
        return []
    known = np.isfinite(run.confusion).all((1, 2)) & np.array([p.labels > 0 for p in run.people], bool)
    if not known.any() or len(run.classes) < 2:
        return []
    weights = [person.labels for person, is_known in zip(run.people, known, strict=True) if is_known]
    return [run.classes[place] for place in undominated_classes(run.confusion[known], weights)]


def _mean_confusion(run: RunFolder) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    """Of all annotators, by how much they labelled."""
    if run.confusion is None:
        return None
    known = np.isfinite(run.confusion).all((1, 2))
    labels = np.array([person.labels for person in run.people], np.float64) * known
    if not labels.sum():
        return None
    return np.tensordot(labels[known] / labels.sum(), run.confusion[known], 1)


def _said(run: RunFolder, name: str) -> tuple[int | None, float | None, tuple[str, int] | None]:
    if run.labels is None or run.is_masks:
        return None, None, None
    chosen = run.labels.label == name
    count = int(chosen.sum())
    wrong = float(1 - np.nanmean(run.labels.probability[chosen])) if count else None
    if run.labels.suggested is None:
        return count, wrong, None
    instead = Counter(run.labels.suggested[chosen & run.labels.doubted].tolist()).most_common(1)
    return count, wrong, instead[0] if instead else None
