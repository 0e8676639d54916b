"""Whether a classifier is as often right as it says, by the labels given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from truelabel.annotations import Annotations, require_annotations
from truelabel.quality.belief import check_probs


class Calibration(NamedTuple):
    """Confidence beside agreement with the labels.

    Attributes:
        bins: ``(mean confidence, share of labels that agree, labels)`` of every bin that holds any, in ascending order.
        error: mean over labels of the distance between the two, the expected calibration error (Guo 2017).

    Example:
        >>> calibration(Annotations.from_labels([0, 1]), [[1.0, 0.0], [0.0, 1.0]]).error
        0.0
    """

    bins: tuple[tuple[float, float, int], ...]
    error: float


def calibration(annotations: Annotations, probs: ArrayLike, bins: int = 10) -> Calibration:
    r"""How far the confidence of a classifier and its agreement with the labels lie apart.

    .. math:: \sum_b \frac{n_b}{L} \, |\mathrm{agreement}_b - \mathrm{confidence}_b|

    Sums run over labels. The confidence is the largest probability of the example; bin b of B holds those in
    ((b-1)/B, b/B]. Labels that are wrong lower the agreement, so that a classifier that knows the truth lies above it
    by about the share of wrong labels.

    Args:
        annotations: what was said.
        probs: ``(N, K)``, p(y|x), of a classifier that has not seen these labels.
        bins: B.

    Example:
        >>> calibration(Annotations.from_labels([0, 1, 1]), [[0.75, 0.25], [0.75, 0.25], [0.25, 0.75]], bins=2)
        Calibration(bins=((0.75, 0.66..., 3),), error=0.083...)
    """
    require_annotations(annotations)
    if bins < 1:
        raise ValueError(f"bins must be at least 1, got {bins}")
    p = check_probs(probs, (len(annotations.examples), len(annotations.classes)))
    confidence, agrees = p.max(-1)[annotations.example], p.argmax(-1)[annotations.example] == annotations.label
    place = np.digitize(confidence, np.linspace(0, 1, bins + 1)[1:-1], right=True)
    count = np.bincount(place, minlength=bins)
    sums = [np.bincount(place, values, bins) for values in (confidence, agrees)]
    kept = np.flatnonzero(count)
    rows = [(float(sums[0][b] / count[b]), float(sums[1][b] / count[b]), int(count[b])) for b in kept]
    error = float(np.abs(sums[1] - sums[0]).sum() / max(1, annotations.size))
    return Calibration(tuple(rows), error)
