from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from truelabel.annotations import Annotations
from truelabel.coding import LabelError
from truelabel.fusion import kernels
from truelabel.fusion.kernels import Votes, normalise, sums_at, to_probabilities


@pytest.fixture(params=[1, 7, 10**6])
def said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Annotations:
    """30 examples, 5 annotators, 4 classes, read in chunks of one example, of one to a few, and at once."""
    monkeypatch.setattr(kernels, "CHUNK", request.param)
    monkeypatch.setattr(kernels, "LABELS_PER_CELL", 0)
    matrix = np.random.default_rng(0).integers(-1, 4, (30, 5))
    matrix[[0, 13, 14, 29]] = -1
    return Annotations.from_matrix(matrix, classes=4)


def test_chunks_hold_every_label_once(said: Annotations) -> None:
    votes = Votes(said)
    assert [chunk.rows.start for chunk in votes.chunks[1:]] == [chunk.rows.stop for chunk in votes.chunks[:-1]]
    assert votes.chunks[0].rows.start == 0
    assert votes.chunks[-1].rows.stop == 30
    for name in ("example", "annotator", "label"):
        joined = np.concatenate([getattr(chunk, name) for chunk in votes.chunks])
        np.testing.assert_array_equal(joined, getattr(said, name))


def test_sums_over_examples_and_cells_in_plain_loops(said: Annotations) -> None:
    rng = np.random.default_rng(1)
    votes = Votes(said)
    table, posterior = rng.normal(size=(votes.cells, 4)), rng.dirichlet(np.ones(4), 30)
    by_example, by_cell = np.zeros((30, 4)), np.zeros((votes.cells, 4))
    for n, r, label in zip(said.example, said.annotator, said.label, strict=True):
        by_example[n] += table[r * 4 + label]
        by_cell[r * 4 + label] += posterior[n]
    np.testing.assert_allclose(np.concatenate([chunk.votes @ table for chunk in votes.chunks]), by_example)
    found = np.sum([chunk.votes.T @ posterior[chunk.rows] for chunk in votes.chunks], 0)
    np.testing.assert_allclose(found, by_cell)


def test_shares_and_counts(said: Annotations) -> None:
    votes = Votes(said)
    counts = said.vote_counts()
    given = counts.sum(-1)
    shares = np.concatenate([votes.shares(chunk) for chunk in votes.chunks])
    np.testing.assert_allclose(shares * given[:, None], counts)
    np.testing.assert_array_equal(np.concatenate([chunk.labelled for chunk in votes.chunks]), given > 0)
    assert votes.compared == (given > 1).sum()
    expected = [[(said.matrix()[:, r] == k).sum() for k in range(4)] for r in range(5)]
    np.testing.assert_array_equal(votes.label_counts(), expected)


def test_large_tables_get_large_chunks() -> None:
    # 3 of 400 annotators label each example: added for few labels at a time, a table of 1,600 cells would cost most.
    rng = np.random.default_rng(0)
    matrix = np.full((5000, 400), -1)
    np.put_along_axis(matrix, rng.permuted(np.tile(np.arange(400), (5000, 1)), axis=1)[:, :3], 1, 1)
    votes = Votes(Annotations.from_matrix(matrix, classes=4))
    assert all(len(chunk.label) >= 4 * votes.cells for chunk in votes.chunks[:-1])


@pytest.mark.parametrize("k", [1, 3, 40])
def test_probabilities_and_their_normaliser(k: int) -> None:
    logits = np.random.default_rng(0).normal(scale=300, size=(20, k))
    if k > 1:
        logits[3, 0] = -np.inf
    probs = logits.copy()
    assert to_probabilities(probs) == pytest.approx(logsumexp(logits, -1).sum())
    np.testing.assert_allclose(probs, softmax(logits, -1))
    np.testing.assert_allclose(normalise(logits.copy()), logsumexp(logits, -1))


def test_sums_of_nothing_are_not_integers() -> None:
    sums = sums_at(np.zeros(0, np.int64), np.zeros(0), 3)
    assert sums.dtype == np.float64
    np.testing.assert_array_equal(sums, np.zeros(3))


def test_masks_and_nothing_at_all_are_refused() -> None:
    with pytest.raises(LabelError, match="not for masks"):
        Votes(Annotations.from_masks(np.zeros((2, 3, 4, 4), int), classes=2))
    with pytest.raises(LabelError, match="no classes"):
        Votes(Annotations.from_matrix([[-1, -1]]))
