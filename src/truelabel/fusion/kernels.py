"""What fusions do with many labels: sums over the labels of an example, and over those of an annotator.

Labels are read in chunks of examples that fit the cache. A chunk is a sparse matrix with a one for every label: row =
example, column = *cell*, the pair (annotator, label), at ``annotator * K + label``. Multiplied with a table of cells it
sums over the labels of each example; its transpose, multiplied with a posterior, sums over the examples of each cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations, require_annotations
from truelabel.coding import LabelError

Array = NDArray[np.float64]
Integers = NDArray[np.integer[Any]]

CHUNK = 2**17
"""Entries of a chunk's ``(n, K)`` posterior: one MiB, which stays in the cache between the two steps of EM."""

LABELS_PER_CELL = 4
"""Labels of a chunk for each cell of the table that its sums are added to, so that adding costs less than summing."""

EXAMPLES = 2**20
"""Examples of a chunk at most, whatever the size of that table."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some consecutive examples and all their labels.

    Attributes:
        rows: where these n examples stand among the N.
        votes: sparse ``(n, R * K)``, a one for every label.
        example: ``(l,)`` positions among the N.
        annotator: ``(l,)``.
        label: ``(l,)``.
    """

    rows: slice
    votes: Any
    example: Integers
    annotator: Integers
    label: Integers

    @property
    def size(self) -> int:
        """How many examples: n."""
        return int(self.rows.stop - self.rows.start)

    @property
    def cell(self) -> Integers:
        """Where each label stands in a table of R * K cells: ``(l,)``."""
        indices: Integers = self.votes.indices
        return indices

    @property
    def row(self) -> Integers:
        """Which of the n examples each label is of: ``(l,)``."""
        row: Integers = np.subtract(self.example, self.rows.start, dtype=np.int64)
        return row

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which examples have labels: ``(n,)``."""
        labelled: NDArray[np.bool_] = np.diff(self.votes.indptr) > 0
        return labelled


class Votes:
    """The labels of Annotations, ready to be summed again and again.

    Attributes:
        examples: N.
        annotators: R.
        classes: K.
        size: labels given, L.
        compared: examples with two labels or more.
        chunks: all labels, in the order of examples.
    """

    def __init__(self, annotations: Annotations) -> None:
        require_annotations(annotations)
        if annotations.space:
            raise LabelError("labels are fused for whole examples, not for masks: use fuse_images")
        if not annotations.classes:
            raise LabelError("annotations have no classes: there are no labels, and none were named with classes=")
        self.examples, self.annotators = len(annotations.examples), len(annotations.annotators)
        self.classes, self.size = len(annotations.classes), annotations.size
        _keep_freed_memory()
        counts = annotations.counts
        self.compared = int((counts > 1).sum())
        self.chunks = list(self._split(annotations, np.concatenate([[0], np.cumsum(counts)])))

    @property
    def cells(self) -> int:
        """Pairs of annotator and label, R * K."""
        return self.annotators * self.classes

    def _split(self, annotations: Annotations, ends: Integers) -> Iterator[Chunk]:
        from scipy.sparse import csr_array

        kind = np.int32 if self.cells < 2**31 else np.int64
        cell = np.multiply(annotations.annotator, self.classes, dtype=kind)
        cell += annotations.label
        wide = LABELS_PER_CELL * self.cells * self.examples // max(self.size, 1)
        step = max(CHUNK // self.classes, min(wide, EXAMPLES), 1)
        firsts = range(0, self.examples, step)
        longest = max((int(ends[min(n + step, self.examples)] - ends[n]) for n in firsts), default=0)
        ones = np.ones(longest)
        for first in firsts:
            pointers = ends[first : first + step + 1]
            given = slice(int(pointers[0]), int(pointers[-1]))
            entries = (ones[: given.stop - given.start], cell[given], (pointers - given.start).astype(kind))
            yield Chunk(
                slice(first, first + len(pointers) - 1),
                csr_array(entries, shape=(len(pointers) - 1, self.cells)),
                annotations.example[given],
                annotations.annotator[given],
                annotations.label[given],
            )

    def place(self, chunk: Chunk) -> Integers:
        """Where the label of each example stands in a flat ``(n, K)`` array: ``(l,)``."""
        place = chunk.row
        place *= self.classes
        place += chunk.label
        return place

    def shares(self, chunk: Chunk) -> Array:
        """Share of the votes for each class: ``(n, K)``, zeros where nobody voted."""
        counts = np.bincount(self.place(chunk), minlength=chunk.size * self.classes).reshape(-1, self.classes)
        given = np.diff(chunk.votes.indptr)
        shares: Array = counts / np.maximum(given, 1)[:, None]
        return shares

    def label_counts(self) -> Array:
        """How often each annotator gave each label: ``(R, K)``."""
        counts = np.zeros(self.cells)
        for chunk in self.chunks:
            counts += np.bincount(chunk.cell, minlength=self.cells)
        return counts.reshape(self.annotators, self.classes)


def _keep_freed_memory() -> None:
    """Free 4 MiB once, untouched.

    From the largest block freed so far, glibc decides what it keeps for the next chunk. It would give the arrays of
    each chunk back to the system and fetch them again, which takes as long as the sums.
    """
    np.empty(2**19)


def sums_at(index: Integers, values: Array, size: int) -> Array:
    """Sum the ``values (l,)`` that share an ``index (l,)``: ``(size,)``."""
    return np.bincount(index, values, size).astype(np.float64, copy=False)  # integers, if there are no values


def to_probabilities(logits: Array) -> float:
    """Turn ``logits (n, K)`` into probabilities, in place.

    Returns:
        Sum over the n rows of the log of what they were divided by.
    """
    return float(normalise(logits).sum())


def normalise(logits: Array) -> Array:
    """Turn ``logits (n, K)`` into probabilities, in place.

    Returns:
        ``(n,)``, the log of what each row was divided by.
    """
    k = logits.shape[1]
    if k <= 32:  # numpy is slow at the maxima of many short rows
        highest = logits[:, 0].copy()
        for column in range(1, k):
            np.maximum(highest, logits[:, column], out=highest)
    else:
        highest = logits.max(-1)
    logits -= highest[:, None]
    np.exp(logits, out=logits)
    totals = logits @ np.ones(k)
    logits /= totals[:, None]
    np.log(totals, out=totals)
    totals += highest
    return totals
