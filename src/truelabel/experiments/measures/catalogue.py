"""All measures by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truelabel.experiments.measures.accuracy import accuracy, training_accuracy
from truelabel.experiments.measures.annotator_confusion import annotator_confusion, annotator_matrices
from truelabel.experiments.measures.cost import cost
from truelabel.experiments.measures.foreground import foreground_dice
from truelabel.experiments.measures.measure import Measure, Outcome
from truelabel.experiments.measures.noisy_test import noisy_test
from truelabel.experiments.measures.outlines import outline_uncertainty, scene_overlap
from truelabel.experiments.measures.readers import reader_confusion_error, reader_masks, reader_predictions
from truelabel.experiments.measures.recovery import instance_transition, recovered_labels
from truelabel.experiments.measures.residuals import residuals

MEASURES: dict[str, Measure] = {
    "accuracy": accuracy,
    "annotator-confusion": annotator_confusion,
    "annotator-matrices": annotator_matrices,
    "cost": cost,
    "dice": foreground_dice,
    "instance-transition": instance_transition,
    "noisy-test": noisy_test,
    "outline-uncertainty": outline_uncertainty,
    "reader-confusion": reader_confusion_error,
    "reader-masks": reader_masks,
    "reader-predictions": reader_predictions,
    "recovered-labels": recovered_labels,
    "residuals": residuals,
    "scene-overlap": scene_overlap,
    "training-accuracy": training_accuracy,
}


def measure_all(names: Sequence[str], outcome: Outcome) -> dict[str, Any]:
    """The scores of several measures together."""
    scores: dict[str, Any] = {}
    for name in names:
        if name not in MEASURES:
            raise ValueError(f"there is no measure {name!r}: choose from {', '.join(MEASURES)}")
        scores |= MEASURES[name](outcome)
    return scores
