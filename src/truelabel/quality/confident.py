"""How labels go wrong, counted on the examples of which a classifier is surest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

_CHUNK = 2**18
"""Probabilities that are held at a time: they and what is made of them stay near the processor."""

_SUM_TOLERANCE = 1e-2
"""Half-precision probabilities of many classes sum to one within this; logits do not."""

SHARE, LEAST = 0.25, 30
"""Of the examples predicted as a class, the part that is counted, and how many of them at least."""

_SMOOTHING = 0.1
"""Pseudo-count of a cell, so that what was never seen is rare rather than impossible."""

_STRENGTH = 10.0
"""Labels of each class that the crowd as a whole counts for in the matrix of one annotator."""


class Predicted(NamedTuple):
    """The most probable class of each example.

    Attributes:
        label: ``(N,)``, its position.
        confidence: ``(N,)``, its probability.
    """

    label: NDArray[np.int32]
    confidence: NDArray[np.float32]


def row_parts(probs: Array) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """Some rows of ``probs (N, K)`` at a time, as float32.

    Example:
        >>> [(part.start, part.stop, values.dtype.name) for part, values in row_parts(np.eye(3))]
        [(0, 3, 'float32')]
    """
    step = max(1, _CHUNK // max(1, probs.shape[1]))
    for start in range(0, len(probs), step):
        part = slice(start, min(start + step, len(probs)))
        yield part, np.asarray(probs[part], np.float32)


def predicted_classes(probs: Array) -> Predicted:
    """The most probable class of ``probs (N, K)``, of any precision, in little memory.

    Raises:
        ValueError: if a row is no probabilities.

    Example:
        >>> predicted_classes(np.array([[0.25, 0.75], [1.0, 0.0]])).label.tolist()
        [1, 0]
    """
    label, confidence = np.empty(len(probs), np.int32), np.empty(len(probs), np.float32)
    for part, values in row_parts(probs):
        wrong = ~(np.abs(values.sum(-1) - 1) <= _SUM_TOLERANCE) | (values.min(-1) < 0)
        if wrong.any():
            raise ValueError(
                f"row {part.start + int(wrong.argmax())} of pred_probs is no probabilities that sum to one: "
                "pass logits through softmax"
            )
        label[part] = values.argmax(-1)
        confidence[part] = np.take_along_axis(values, label[part, None], 1)[:, 0]
    return Predicted(label, confidence)


def surest(predicted: Predicted, classes: int) -> NDArray[np.bool_]:
    """The quarter of the examples predicted as each class that is predicted most confidently, thirty at least.

    Args:
        predicted: of N examples.
        classes: K.

    Returns:
        ``(N,)``.

    Example:
        >>> found = Predicted(np.zeros(200, np.int32), np.linspace(0, 1, 200, dtype=np.float32))
        >>> np.flatnonzero(surest(found, 2)).tolist() == list(range(150, 200))
        True
    """
    order = np.lexsort((predicted.confidence, predicted.label))
    count = np.bincount(predicted.label, minlength=classes)
    kept = np.maximum(np.ceil(SHARE * count), LEAST).clip(max=count)
    from_the_end = np.repeat(count.cumsum(), count) - np.arange(len(order))
    chosen = np.empty(len(order), bool)
    chosen[order] = from_the_end <= kept[predicted.label[order]]
    return chosen


def count_confusion(
    predicted: Array, labels: Array, classes: int, group: Array | None = None, groups: int = 1
) -> NDArray[np.float64]:
    r"""What labels say where a class is surely the true one.

    .. math:: T[k, j] \propto \epsilon + |\{l: \tilde y_l = j,\ \hat y_l = k\}|

    Of several annotators, each matrix also counts that of all together as ten labels of each class.

    Args:
        predicted: ``(L,)``, the class of the example of each label, of sure ones only.
        labels: ``(L,)``, positions of classes.
        classes: K.
        group: ``(L,)``, who gave each label.
        groups: R.

    Returns:
        ``(R, K, K)``, ``[annotator, true, observed]``, rows sum to one. A class that nothing was predicted as is taken
        to be always recognised.

    Example:
        >>> count_confusion(np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1]), 2)[0].round(2)
        array([[0.66, 0.34],
               [0.08, 0.92]])
    """
    cells = predicted.astype(np.int64) * classes + labels
    total = np.bincount(cells, minlength=classes**2).reshape(classes, classes).astype(np.float64)
    total += np.where(total.sum(-1, keepdims=True) > 0, 0.0, np.eye(classes))
    together: NDArray[np.float64] = (total + _SMOOTHING) / (total + _SMOOTHING).sum(-1, keepdims=True)
    if group is None:
        return together[None]
    own = np.bincount(group.astype(np.int64) * classes**2 + cells, minlength=groups * classes**2)
    shrunk = own.reshape(groups, classes, classes) + _STRENGTH * together
    matrices: NDArray[np.float64] = shrunk / shrunk.sum(-1, keepdims=True)
    return matrices
