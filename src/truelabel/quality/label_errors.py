"""Labels that are probably wrong, from probabilities that the user brings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.annotations import Annotations
from truelabel.coding import Name, name_array
from truelabel.quality.belief import label_quality, true_class_probs
from truelabel.quality.confident import count_confusion, predicted_classes, row_parts, surest

_ROUNDS = 2
"""Of the deconvolution; more changes the ranking little."""


@dataclass(frozen=True, eq=False)
class LabelErrors:
    """Which labels are probably wrong, L labels in all.

    Attributes:
        errors: ``(L,)`` booleans, the labels that are suspected.
        ranked: their places, the worst first.
        quality: ``(L,)``, probability that each label is right.
        suggested: ``(L,)``, the most probable class; where a label is suspected, the most probable of the others.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``, as estimated.
        noise_rate: share of labels that are wrong, as estimated.

    Example:
        >>> found = find_label_errors([[0.9, 0.1], [0.2, 0.8], [0.1, 0.9]], [0, 1, 0])
        >>> found.errors.tolist(), round(found.noise_rate, 2)
        ([False, False, True], 0.36)
    """

    errors: NDArray[np.bool_]
    ranked: NDArray[np.int64]
    quality: NDArray[np.float64]
    suggested: NDArray[Any]
    confusion: NDArray[np.float64]
    noise_rate: float


def find_label_errors(pred_probs: ArrayLike, labels: Any, *, classes: Sequence[Name] | None = None) -> LabelErrors:
    r"""Find labels that are probably wrong from the probabilities of any classifier that has not seen them.

    How labels go wrong, T, is counted on the examples that are surely of a class: of those predicted as it, the quarter
    with the highest probability. A label is then judged by Bayes' rule:

    .. math:: p(y = \tilde y \mid x, \tilde y) =
        \frac{\pi_{\tilde y} T[\tilde y, \tilde y]}{\sum_k \pi_k T[k, \tilde y]}, \qquad
        p(\tilde y = j \mid x) = \sum_k \pi_k T[k, j]

    A classifier that was trained on wrong labels predicts labels, not the truth. :math:`\pi` is what lies behind its
    prediction, found by two rounds of Richardson–Lucy deconvolution. With several annotators the probabilities are
    taken for those of the true class, and all labels of an example count, each by its annotator's matrix. Suspected are
    the labels of lowest quality, as many as T says are wrong, save those that the classifier agrees with.

    The idea of counting is that of confident learning (Northcutt 2021), which counts on all examples whose probability
    reaches the mean of its class, and ranks by :math:`p(\tilde y \mid x)` or a margin. A classifier that often errs
    then passes its own errors off as those of the labels; T also tells a common mistake from a rare one. Memory follows
    N, not N·K; time is that of a few passes over the probabilities.

    Args:
        pred_probs: ``(N, K)``, out of sample: of examples that the classifier was not trained on.
        labels: ``(N,)``, positions of classes, or names if ``classes`` are given; a matrix ``(N, R)`` of labels by R
            annotators, -1 where there is none; or :class:`~truelabel.Annotations`.
        classes: ``(K,)``, names of the columns of ``pred_probs``; ``0..K-1`` by default.

    Returns:
        One entry a label: in the order of the rows, or of the table of annotations.

    Example:
        >>> probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9], [0.05, 0.95], [0.9, 0.1]])
        >>> found = find_label_errors(probs, [0, 0, 1, 1, 0, 0])
        >>> found.ranked.tolist(), found.suggested.tolist(), found.quality.round(2).tolist()
        ([4], [0, 0, 1, 1, 1, 0], [0.96, 0.89, 1.0, 1.0, 0.0, 0.96])
    """
    probs = np.asarray(pred_probs)
    if probs.ndim != 2 or probs.shape[1] < 2 or not len(probs) or probs.dtype.kind not in "fiub":
        raise ValueError(f"pred_probs must be (N, K) numbers with two classes or more, got {probs.dtype} {probs.shape}")
    k = probs.shape[1]
    if classes is not None and len(classes) != k:
        raise ValueError(f"classes names {len(classes)}, but pred_probs has {k} columns")
    names = None if classes is None else name_array(classes)
    if isinstance(labels, Annotations) or np.ndim(labels) == 2:
        named = k if classes is None else classes
        said = labels if isinstance(labels, Annotations) else Annotations.from_matrix(labels, classes=named)
        return _of_many(probs, _checked(said, probs.shape, classes))
    codes = _codes(labels, probs.shape, classes)
    predicted = predicted_classes(probs)
    sure = surest(predicted, k)
    confusion = count_confusion(predicted.label[sure], codes[sure], k)
    quality, best, other = _judge(probs, codes, confusion[0])
    rate = _noise_rate(confusion[0].diagonal()[predicted.label])
    errors, ranked = _worst(quality, rate, predicted.label != codes)
    suggested = np.where(errors, other, best)
    return LabelErrors(errors, ranked, quality, suggested if names is None else names[suggested], confusion, rate)


def _of_many(probs: NDArray[Any], annotations: Annotations) -> LabelErrors:
    """By the matrices of all annotators."""
    rows, said, k = annotations.example, annotations.label.astype(np.int64), probs.shape[1]
    predicted = predicted_classes(probs)
    sure = surest(predicted, k)[rows]
    believed, who = predicted.label[rows], annotations.annotator
    confusion = count_confusion(believed[sure], said[sure], k, who[sure], len(annotations.annotators))
    belief = true_class_probs(annotations, probs, confusion)
    quality = label_quality(annotations, belief)
    rate = _noise_rate(confusion[who, believed, believed])
    errors, ranked = _worst(quality, rate, believed != said)
    other = belief[rows[errors]]
    other[np.arange(len(other)), said[errors]] = -1
    suggested = belief.argmax(-1)[rows]
    suggested[errors] = other.argmax(-1)
    named = name_array(annotations.classes)[suggested]
    return LabelErrors(errors, ranked, quality, named, confusion, rate)


def _judge(
    probs: NDArray[Any], labels: NDArray[np.int64], confusion: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Quality, the most probable class and the most probable of those that the label does not name, all ``(N,)``."""
    n, matrix = len(labels), confusion.astype(np.float32)
    quality, best, other = np.empty(n), np.empty(n, np.int32), np.empty(n, np.int32)
    columns, tiny = np.ascontiguousarray(matrix.T), np.finfo(np.float32).tiny
    for part, values in row_parts(probs):
        said = labels[part]
        rows = np.arange(len(said))
        prior = values
        for _ in range(_ROUNDS):
            prior = prior * ((values / np.maximum(prior @ matrix, tiny)) @ columns)
        joint = prior * columns[said]
        best[part] = joint.argmax(-1)
        right = joint[rows, said].astype(np.float64)
        joint[rows, said] = 0
        wrong = joint.sum(-1, dtype=np.float64)
        other[part] = joint.argmax(-1)
        total = right + wrong
        # Probabilities may be so small that nothing is left of them: then nothing is known.
        quality[part] = np.divide(right, total, out=np.full(len(said), 0.5), where=total > 0)
    return quality, best.astype(np.int64), other.astype(np.int64)


def _worst(
    quality: NDArray[np.float64], rate: float, doubted: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """This share of all, of the lowest quality, as far as it is doubted, as a mask and in order."""
    ranked = np.argsort(quality, kind="stable")[: round(rate * len(quality))]
    ranked = ranked[doubted[ranked]]
    errors = np.zeros(len(quality), bool)
    errors[ranked] = True
    return errors, ranked


def _noise_rate(right: NDArray[np.float64]) -> float:
    """Share of labels that are wrong, if each is right with the probability ``right (L,)``."""
    return float(1 - right.mean())


def _codes(labels: Any, shape: tuple[int, ...], classes: Sequence[Name] | None) -> NDArray[np.int64]:
    """Positions of classes ``(N,)``."""
    values = np.asarray(labels)
    if values.ndim != 1 or len(values) != shape[0]:
        raise ValueError(f"labels must be ({shape[0]},) as pred_probs has so many rows, got shape {values.shape}")
    if classes is not None:
        return Annotations.from_labels(values, classes=classes).label.astype(np.int64)
    if values.dtype.kind not in "iu":
        raise ValueError(f"labels must be positions of classes, got {values.dtype}: pass classes= for names")
    low, high = int(values.min()), int(values.max())
    if low < 0 or high >= shape[1]:
        row = int(((values < 0) | (values >= shape[1])).argmax())
        raise ValueError(f"label {values[row]} in row {row} is outside 0..{shape[1] - 1}, the columns of pred_probs")
    return values.astype(np.int64, copy=False)


def _checked(annotations: Annotations, shape: tuple[int, ...], classes: Sequence[Name] | None) -> Annotations:
    if annotations.space or not annotations.size:
        raise ValueError("labels must be labels of whole examples, one at least: for masks use suspect_regions")
    if (len(annotations.examples), len(annotations.classes)) != shape:
        raise ValueError(
            f"pred_probs is {shape}, but labels are of {len(annotations.examples)} examples and "
            f"{len(annotations.classes)} classes: pass a row and a column for each"
        )
    if classes is not None and list(classes) != list(annotations.classes):
        raise ValueError(f"classes are {list(classes)}, but labels have {list(annotations.classes)}")
    return annotations
