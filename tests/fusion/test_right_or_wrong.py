from __future__ import annotations

import math

import numpy as np
import pytest

from truelabel.annotations import Annotations
from truelabel.fusion import kernels, majority_vote
from truelabel.fusion.kernels import Votes
from truelabel.fusion.right_or_wrong import diagonal_confusion, expect_hits, vote_hits

N, R, K = 25, 4, 3


@pytest.fixture(params=[4, 10**6])
def said(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Annotations:
    """Read in many chunks, and in one."""
    monkeypatch.setattr(kernels, "CHUNK", request.param)
    monkeypatch.setattr(kernels, "LABELS_PER_CELL", 0)
    matrix = np.random.default_rng(0).integers(-1, K, (N, R))
    matrix[5] = -1
    return Annotations.from_matrix(matrix, classes=K)


def test_posterior_and_hits_in_plain_loops(said: Annotations) -> None:
    rng = np.random.default_rng(1)
    right, wrong, prior = rng.random((R, K)), rng.random((R, K)), rng.dirichlet(np.ones(K))
    votes, posterior = Votes(said), np.empty((N, K))
    found = expect_hits(votes, votes.label_counts(), np.log(right), np.log(wrong), prior, posterior, None)
    evidence, hits, shares = 0.0, np.zeros((R, K)), np.zeros(K)
    for n, row in enumerate(said.matrix().tolist()):
        given = [(r, label) for r, label in enumerate(row) if label >= 0]
        joint = [
            prior[true] * math.prod(right[r, j] if j == true else wrong[r, j] for r, j in given) for true in range(K)
        ]
        evidence += math.log(sum(joint))
        np.testing.assert_allclose(posterior[n], np.array(joint) / sum(joint))
        for r, label in given:
            hits[r, label] += posterior[n, label]
        shares += posterior[n] if given else 0
    assert found.evidence == pytest.approx(evidence)
    np.testing.assert_allclose(found.hits, hits)
    np.testing.assert_allclose(found.shares, shares)


def test_hits_of_the_vote(said: Annotations) -> None:
    posterior = majority_vote(said).posterior
    hits = np.zeros((R, K))
    for n, r, label in zip(said.example, said.annotator, said.label, strict=True):
        hits[r, label] += posterior[n, label]
    found = vote_hits(Votes(said), None)
    np.testing.assert_allclose(found.hits, hits)
    np.testing.assert_allclose(found.shares / found.shares.sum(), majority_vote(said).prior)


def test_confusion_of_a_skill() -> None:
    confusion = diagonal_confusion(np.array([0.6, 1.0]), 3)
    np.testing.assert_allclose(confusion[0], np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]]))
    np.testing.assert_array_equal(confusion[1], np.eye(3))
    np.testing.assert_array_equal(diagonal_confusion(np.array([0.3]), 1), [[[1.0]]])
