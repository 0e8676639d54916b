"""What several readers said of each voxel, told once for all voxels of which they said the same.

Without a prior of their own, voxels with the same votes have the same posterior. A million voxels have a few dozen
*patterns* of votes, so whatever iterates does it on these and their counts, and reads the voxels twice: to find the
patterns and to spread the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from truelabel.fusion.kernels import Array, Integers
from truelabel.fusion.masks import Masks
from truelabel.types import MISSING

Kind = TypeVar("Kind", bound=np.generic)

BLOCK = 2**16
"""Voxels that are looked up at a time: numpy wants positions of eight bytes, which all voxels need not have at once."""

ROOM = 2**12
"""Codes that are counted in a table without a thought; above it, as many as there are voxels."""

SPARSE = 2**22
"""Entries of a table of patterns, above which only those that are not zero are kept."""


@dataclass(frozen=True, eq=False)
class Patterns:
    """The P different patterns of votes in masks of V voxels.

    Attributes:
        votes: ``(P, R)``, -1 where the reader gave no label.
        counts: ``(P,)`` voxels of each.
        code: ``(V,)``, a number for the pattern of each voxel, in the smallest type that holds it.
        place: ``(P,)`` the code of each pattern, ascending.
        room: codes are below this.
        classes: K.
    """

    votes: NDArray[np.int64]
    counts: NDArray[np.int64]
    code: Integers
    place: NDArray[np.int64]
    room: int
    classes: int

    @classmethod
    def find(cls, masks: Masks) -> Patterns:
        """Read votes as the digits of a number, and count the numbers.

        Nothing is sorted: numbers are counted in a table, and replaced by their ranks when they grow too long for one.

        Example:
            >>> patterns = Patterns.find(Masks.read([[0, 1, 1, 0], [0, 1, -1, 0]]))
            >>> patterns.votes.tolist(), patterns.counts.tolist()
            ([[0, 0], [1, -1], [1, 1]], [2, 1, 1])
        """
        shift = int(masks.has_gaps)
        base, most = masks.classes + shift, max(ROOM, masks.votes.shape[1])
        code: Integers = np.zeros(masks.votes.shape[1], np.uint8)
        known, room, width = np.empty((1, 0), np.int64), 1, 0
        for vote in masks.votes:
            if room * base > most:
                place, code = _rank(code, room)
                known, room, width = _digits(known, place, base, width), len(place), 0
            room, width = room * base, width + 1
            code = code.astype(np.min_scalar_type(room - 1), copy=False)
            if room > base:
                code *= code.dtype.type(base)
            # Unsigned numbers wrap: -1 and one more is nought.
            np.add(code, vote, out=code, dtype=code.dtype, casting="unsafe")
            if shift:
                code += code.dtype.type(1)
        if room > most:
            place, code = _rank(code, room)
            known, room, width = _digits(known, place, base, width), len(place), 0
        counts, place = _count(code, room)
        return cls(_digits(known, place, base, width) - shift, counts, code, place, room, masks.classes)

    @property
    def given(self) -> NDArray[np.int64]:
        """How many readers labelled voxels of each pattern: ``(P,)``."""
        given: NDArray[np.int64] = (self.votes >= 0).sum(-1)
        return given

    @property
    def disputed(self) -> NDArray[np.bool_]:
        """Whether two readers differ: ``(P,)``."""
        lowest = np.where(self.votes < 0, self.classes, self.votes).min(-1)
        disputed: NDArray[np.bool_] = self.votes.max(-1) > lowest
        return disputed

    def cells(self) -> Any:
        """A one for every vote: ``(P, R * K)``, dense or sparse, in float64; its column is ``reader * K + label``."""
        p, r = self.votes.shape
        k = self.classes
        column = np.arange(r) * k + self.votes
        given = self.votes >= 0
        if p * r * k > SPARSE:
            from scipy.sparse import csr_array

            ends = np.concatenate([[0], np.cumsum(given.sum(-1))])
            return csr_array((np.ones(ends[-1]), column[given], ends), shape=(p, r * k))
        cells = np.zeros((p, r * k))
        if MISSING in self.votes:
            cells[given.nonzero()[0], column[given]] = 1
        else:
            np.put_along_axis(cells, column, 1, -1)
        return cells

    def tallies(self, cells: Any) -> Array:
        """Votes for each class, from :meth:`cells`: ``(P, K)``."""
        tallies: Array = cells @ np.tile(np.eye(self.classes), (self.votes.shape[1], 1))
        return tallies

    def blocks(self) -> Iterator[slice]:
        """Consecutive voxels, some at a time."""
        for first in range(0, len(self.code), BLOCK):
            yield slice(first, min(first + BLOCK, len(self.code)))

    def spread(self, table: NDArray[Kind]) -> NDArray[Kind]:
        """Give each voxel the row of its pattern: ``(P, ...)`` to ``(V, ...)``."""
        whole = np.zeros((self.room, *table.shape[1:]), table.dtype)
        whole[self.place] = table
        spread = np.empty((len(self.code), *table.shape[1:]), table.dtype)
        for block in self.blocks():
            whole.take(self.code[block], 0, out=spread[block], mode="clip")
        return spread

    def rank(self) -> NDArray[np.int32]:
        """Which of the P patterns each voxel has: ``(V,)``."""
        return self.spread(np.arange(len(self.place), dtype=np.int32))


def sum_by(rank: Integers, values: Array, size: int) -> Array:
    """Sum the rows of ``values (n, K)`` that share a ``rank (n,)``: ``(size, K)``."""
    return np.stack([np.bincount(rank, column, size) for column in values.T], -1)


def _count(code: Integers, room: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each code occurs that does, and which these are, ascending."""
    counts = np.zeros(room, np.int64)
    step = max(BLOCK, room)
    for first in range(0, len(code), step):
        counts += np.bincount(code[first : first + step], minlength=room)
    place = counts.nonzero()[0]
    return counts[place], place


def _rank(code: Integers, room: int) -> tuple[NDArray[np.int64], Integers]:
    """The codes that occur, ascending, and for each voxel which of them it has."""
    if room > 64 * len(code):
        place, ranks = np.unique(code, return_inverse=True)
        return place.astype(np.int64), ranks.reshape(-1)
    present = np.zeros(room, bool)
    present[code] = True
    place = present.nonzero()[0]
    rank = np.cumsum(present, dtype=np.min_scalar_type(len(place))) - 1
    return place, rank.take(code)


def _digits(known: NDArray[np.int64], place: NDArray[np.int64], base: int, width: int) -> NDArray[np.int64]:
    """Digits of all readers so far: those of earlier ones by their rank, the last ``width`` from the code itself."""
    powers = base ** np.arange(width - 1, -1, -1)
    return np.concatenate([known[place // base**width], place[:, None] // powers % base], -1)
