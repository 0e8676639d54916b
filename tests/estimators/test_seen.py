"""What an estimator has learned from, by hashes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel import Annotations
from truelabel.estimators import seen
from truelabel.estimators.seen import Seen, row_hashes, said_hash, warn_of_seen


@pytest.mark.parametrize("kind", [np.uint8, np.float32, np.float64])
def test_equal_rows_have_equal_hashes_and_others_have_not(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: NDArray[Any] = np.random.default_rng(0).integers(0, 3, (2000, 3, 5)).astype(kind)
    hashes = row_hashes(rows)
    whole = {row.tobytes(): value for row, value in zip(rows, hashes.tolist(), strict=True)}
    assert len(set(whole.values())) == len(whole)
    monkeypatch.setattr(seen, "_CHUNK", 100)
    assert np.array_equal(row_hashes(rows), hashes)
    assert np.array_equal(row_hashes(np.asfortranarray(rows)[::-1]), hashes[::-1])


def test_the_order_of_numbers_counts() -> None:
    every = np.array([[a, b, c] for a in range(12) for b in range(12) for c in range(12)], np.float32)
    assert len(set(row_hashes(every).tolist())) == 12**3


def test_places_of_what_was_seen() -> None:
    rng = np.random.default_rng(0)
    inputs, said = rng.normal(size=(50, 4)), Annotations.from_labels(np.arange(50) % 2)
    known = Seen.of(inputs, said, 3)
    mixed = np.concatenate([inputs[[7, 3]], rng.normal(size=(2, 4)), inputs[[49]]])
    assert known.places(mixed).tolist() == [7, 3, -1, -1, 49]
    assert known.same(inputs.copy(), said)
    assert not known.same(inputs[::-1], said)
    assert not known.same(inputs[:-1], said.take(np.arange(49)))
    assert not known.same(inputs, Annotations.from_labels(np.arange(50) % 3 % 2))


def test_labels_are_told_apart_by_who_gave_them() -> None:
    one, other = Annotations.from_matrix([[0, 1], [1, -1]]), Annotations.from_matrix([[0, 1], [-1, 1]])
    assert said_hash(one) != said_hash(other)
    assert said_hash(one) == said_hash(Annotations.from_matrix([["a", "b"], ["b", None]]))


def test_what_cannot_be_judged_out_of_sample_is_told() -> None:
    warn_of_seen(np.array([-1, -1]))
    with pytest.warns(UserWarning, match="2 of 3 examples were learned from, but X and y are not all that fit"):
        warn_of_seen(np.array([0, -1, 5]))
