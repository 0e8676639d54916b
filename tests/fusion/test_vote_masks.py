from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from truelabel.annotations import Annotations
from truelabel.coding import LabelError
from truelabel.fusion import majority_vote, vote_masks

ANY = arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(1, 4), st.integers(1, 5)), elements=st.integers(-1, 2))


@given(ANY.filter(lambda masks: masks.max() >= 0))
@settings(max_examples=40, deadline=None)
def test_it_is_the_vote_on_every_voxel(masks: np.ndarray[Any, Any]) -> None:
    matrix = masks.reshape(len(masks), -1).T
    expected = majority_vote(Annotations.from_matrix(matrix, classes=3), ties="lowest")
    fused = vote_masks(masks, classes=3)
    assert (fused.posterior.shape, fused.labels.shape) == ((*masks.shape[1:], 3), masks.shape[1:])
    np.testing.assert_allclose(fused.posterior.reshape(-1, 3), expected.posterior, rtol=1e-6)
    silent = (matrix < 0).all(-1)
    np.testing.assert_array_equal(fused.labels.ravel(), np.where(silent, -1, expected.labels))
    np.testing.assert_allclose(fused.confusion, expected.confusion)
    np.testing.assert_allclose(fused.prior, expected.prior)
    assert fused.evidence is None
    assert fused.converged


@pytest.mark.parametrize(("ties", "label"), [("lowest", 1), ("highest", 3), ("missing", -1)])
def test_ties_follow_the_rule(ties: Any, label: int) -> None:
    fused = vote_masks([[1, 0], [3, 0], [1, 2], [3, -1]], ties=ties)
    np.testing.assert_array_equal(fused.labels, [label, 0])
    np.testing.assert_allclose(fused.posterior, [[0, 0.5, 0, 0.5], [2 / 3, 0, 1 / 3, 0]], rtol=1e-6)


def test_booleans_and_bad_masks() -> None:
    fused = vote_masks(np.array([[True, False], [True, True], [True, False]]))
    np.testing.assert_array_equal(fused.labels, [1, 0])
    with pytest.raises(LabelError, match="masks hold no label"):
        vote_masks([[-1, -1]])
    with pytest.raises(ValueError, match="ties must be"):
        vote_masks([[0, 1]], ties="random")  # type: ignore[arg-type]
