"""Which examples an estimator has learned from, so that it can judge them by networks that have not."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.annotations import Annotations

_CHUNK = 2**22
"""Bytes that are hashed at a time."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What a fit has seen.

    Attributes:
        rows: ``(N,)`` int64, a hash of every example, in their order.
        said: a hash of the labels.
        seed: of the training.
    """

    rows: NDArray[np.int64]
    said: str
    seed: int

    @classmethod
    def of(cls, inputs: NDArray[Any], annotations: Annotations, seed: int) -> Seen:
        """Of inputs ``(N, ...)`` as the network takes them."""
        return cls(row_hashes(inputs), said_hash(annotations), seed)

    def places(self, inputs: NDArray[Any]) -> NDArray[np.int64]:
        """Where each of some inputs ``(n, ...)`` stood among those seen; -1 where it was not seen."""
        order = np.argsort(self.rows, kind="stable")
        hashes = row_hashes(inputs)
        at = np.searchsorted(self.rows, hashes, sorter=order).clip(max=len(order) - 1)
        found = order[at]
        return np.where(self.rows[found] == hashes, found, -1)

    def same(self, inputs: NDArray[Any], annotations: Annotations) -> bool:
        """Whether these are the examples and labels of the fit, in the same order."""
        return (
            len(inputs) == len(self.rows)
            and said_hash(annotations) == self.said
            and np.array_equal(row_hashes(inputs), self.rows)
        )


def warn_of_seen(places: NDArray[np.int64]) -> None:
    """Tell that some of these examples, at their places among those seen, cannot be judged out of sample.

    Example:
        >>> warn_of_seen(np.array([-1, -1]))  # all of them are new
    """
    if (places >= 0).any():
        warnings.warn(
            f"{int((places >= 0).sum())} of {len(places)} examples were learned from, but X and y are not all that fit "
            "was given: what is said of these is in-sample; pass all of it, or folds=0",
            UserWarning,
            stacklevel=5,
        )


def row_hashes(inputs: NDArray[Any]) -> NDArray[np.int64]:
    """A hash of every row ``(N, ...)`` by its bytes, many rows at a time.

    A sum of the row's 64-bit words, each mixed and multiplied with an odd key of its place, modulo 2^64.

    Example:
        >>> hashes = row_hashes(np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 2.0]]))
        >>> bool(hashes[0] == hashes[2]), bool(hashes[0] == hashes[1])
        (True, False)
    """
    rows = np.ascontiguousarray(inputs).reshape(len(inputs), -1)
    size = rows.shape[1] * rows.itemsize
    words = -(-size // 8)
    keys = np.random.default_rng(0).integers(0, 2**63, (2, words), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    hashes = np.empty(len(rows), np.uint64)
    step = max(1, _CHUNK // max(8, size))
    for start in range(0, len(rows), step):
        part = rows[start : start + step]
        padded = np.zeros((len(part), 8 * words), np.uint8)
        padded[:, :size] = part.view(np.uint8)
        mixed = (padded.view(np.uint64) + keys[0]) * keys[1]
        mixed ^= mixed >> np.uint64(29)
        hashes[start : start + step] = (mixed * keys[0]).sum(-1, dtype=np.uint64)
    return hashes.view(np.int64)


def said_hash(annotations: Annotations) -> str:
    """A hash of who gave which label to which example, by their places."""
    digest = hashlib.sha256()
    for codes in (annotations.example, annotations.annotator, annotations.label):
        digest.update(f"{codes.shape}".encode())
        digest.update(np.ascontiguousarray(codes, "<i4").data)
    return digest.hexdigest()[:16]
