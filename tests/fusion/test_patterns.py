from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truelabel.fusion import patterns as module
from truelabel.fusion.masks import Masks
from truelabel.fusion.patterns import Patterns, sum_by

ANY = arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 40)), elements=st.integers(-1, 3)).filter(
    lambda masks: masks.max() >= 0
)


def check(masks: np.ndarray[Any, Any], classes: int | None = None) -> Patterns:
    """Compare with numpy's own search for different columns, which sorts them."""
    found = Patterns.find(Masks.read(masks, classes))
    votes, counts = np.unique(masks, axis=1, return_counts=True)
    np.testing.assert_array_equal(found.votes, votes.T)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(found.votes[found.rank()], masks.T)
    np.testing.assert_array_equal(found.spread(found.votes), masks.T)
    return found


@given(ANY)
@settings(max_examples=60, deadline=None)
def test_patterns_are_the_different_columns(masks: np.ndarray[Any, Any]) -> None:
    check(masks)


@pytest.mark.parametrize("kind", [np.uint8, np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("lowest", [-1, 0])
def test_whatever_the_type(kind: Any, lowest: int) -> None:
    masks = np.random.default_rng(0).integers(0 if kind is np.uint8 else lowest, 5, (4, 300)).astype(kind)
    check(masks)


@pytest.mark.parametrize(("readers", "classes", "room"), [(20, 2, 4096), (9, 7, 64), (3, 30_000, 4096), (40, 3, 1)])
def test_codes_too_long_for_a_table(readers: int, classes: int, room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROOM", room)
    rng = np.random.default_rng(0)
    masks = rng.integers(0, classes, (readers, 50))[:, rng.integers(0, 50, 200)].astype(np.int32)
    masks[0, 7] = -1
    found = check(masks, classes)
    assert found.room <= max(room, 200)


def test_more_voxels_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    masks = np.random.default_rng(0).integers(0, 3, (3, 100)).astype(np.uint8)
    monkeypatch.setattr(module, "BLOCK", 7)
    check(masks)


def test_codes_take_little_memory() -> None:
    masks = np.random.default_rng(0).integers(0, 2, (5, 1000)).astype(np.uint8)
    assert Patterns.find(Masks.read(masks)).code.dtype == np.uint8
    assert Patterns.find(Masks.read(masks[:, :, None] * np.uint8(3))).code.dtype == np.uint16


@pytest.mark.parametrize("sparse", [False, True])
def test_cells_hold_every_vote_once(sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if sparse:
        monkeypatch.setattr(module, "SPARSE", 0)
    rng = np.random.default_rng(0)
    for lowest in (-1, 0):
        masks = rng.integers(lowest, 3, (4, 30))
        found = Patterns.find(Masks.read(masks, 3))
        cells = found.cells()
        dense = cells.toarray() if sparse else cells
        expected = (found.votes[:, :, None] == np.arange(3)).reshape(len(found.votes), -1)
        np.testing.assert_array_equal(dense, expected)
        np.testing.assert_array_equal(found.tallies(cells), [np.bincount(v[v >= 0], minlength=3) for v in found.votes])


def test_who_differs_and_who_labelled() -> None:
    found = Patterns.find(Masks.read([[0, 0, -1, -1, 2], [0, 1, 1, -1, 2], [0, 0, -1, -1, 1]]))
    rows = {tuple(vote): (bool(d), int(g)) for vote, d, g in zip(found.votes, found.disputed, found.given, strict=True)}
    assert rows == {
        (0, 0, 0): (False, 3),
        (0, 1, 0): (True, 3),
        (-1, 1, -1): (False, 1),
        (-1, -1, -1): (False, 0),
        (2, 2, 1): (True, 3),
    }


def test_sums_by_rank_in_plain_loops() -> None:
    rng = np.random.default_rng(0)
    rank, values = rng.integers(0, 4, 30), rng.random((30, 3))
    expected = np.zeros((5, 3))
    for place, row in zip(rank, values, strict=True):
        expected[place] += row
    np.testing.assert_allclose(sum_by(rank, values, 5), expected)
