"""Suspects, the worst first."""

from __future__ import annotations

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.quality import rank_suspects


def test_suspects_are_labels_of_another_class_than_the_most_probable() -> None:
    rng = np.random.default_rng(0)
    matrix = np.where(rng.random((40, 3)) < 0.3, -1, rng.integers(0, 3, (40, 3)))
    annotations = Annotations.from_matrix(matrix, classes=3, annotators=["ann", "bob", "cid"])
    belief = rng.dirichlet(np.ones(3), 40)
    found = rank_suspects(annotations, belief)
    expected = sorted(
        (belief[example, said], example, who)
        for example, row in enumerate(matrix)
        for who, said in enumerate(row)
        if said >= 0 and said != belief[example].argmax()
    )
    assert found.probability_right.tolist() == [right for right, _, _ in expected]
    assert found.example.tolist() == [example for _, example, _ in expected]
    assert found.annotator.tolist() == [("ann", "bob", "cid")[who] for _, _, who in expected]
    assert found.suggested.tolist() == belief[found.example].argmax(-1).tolist()
    assert found.suggested_probability.tolist() == belief[found.example].max(-1).tolist()
    assert (found.label == annotations.label[found.index]).all()
    assert (len(found), found.judged) == (len(expected), annotations.size)
    few = rank_suspects(annotations, belief, top=5)
    assert few.index.tolist() == found.index[:5].tolist()
    assert list(few.columns()) == [
        "example",
        "annotator",
        "label",
        "probability_right",
        "suggested",
        "suggested_probability",
    ]


def test_bad_input_is_one_line() -> None:
    annotations = Annotations.from_labels([0, 1])
    with pytest.raises(ValueError, match="top must be a whole number of at least 1, got 0"):
        rank_suspects(annotations, np.eye(2), top=0)
    with pytest.raises(ValueError, match="belief must be"):
        rank_suspects(annotations, np.eye(3))
