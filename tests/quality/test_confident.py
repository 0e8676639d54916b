"""What is counted where the classifier is sure, against loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from truelabel.quality import confident
from truelabel.quality.confident import Predicted, count_confusion, predicted_classes, row_parts, surest


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_the_most_probable_class_part_by_part(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confident, "_CHUNK", 20)
    probs: NDArray[Any] = np.random.default_rng(0).dirichlet(np.ones(3), 31).astype(kind)
    assert [part.stop - part.start for part, _ in row_parts(probs)] == [6, 6, 6, 6, 6, 1]
    found = predicted_classes(probs)
    assert found.label.tolist() == probs.argmax(-1).tolist()
    assert np.array_equal(found.confidence, probs.max(-1).astype(np.float32))


@pytest.mark.parametrize("row", [[0.9, 0.2], [1.5, -0.5], [np.nan, 1.0], [3.0, 2.0]])
def test_what_is_no_probabilities_is_named(row: list[float]) -> None:
    with pytest.raises(ValueError, match="row 2 of pred_probs is no probabilities"):
        predicted_classes(np.array([[0.5, 0.5], [1.0, 0.0], row]))


def test_the_surest_are_a_quarter_of_each_class_or_thirty() -> None:
    rng = np.random.default_rng(0)
    label = np.repeat(np.arange(3, dtype=np.int32), [400, 100, 10])[rng.permutation(510)]
    confidence = rng.random(510).astype(np.float32)
    chosen = surest(Predicted(label, confidence), 4)
    for kind, count in ((0, 100), (1, 30), (2, 10)):
        own = np.flatnonzero(label == kind)
        best = own[np.argsort(-confidence[own])[:count]]
        assert sorted(np.flatnonzero(chosen & (label == kind)).tolist()) == sorted(best.tolist())


def test_confusion_is_counted_and_annotators_are_drawn_to_all() -> None:
    rng = np.random.default_rng(0)
    true, said, who = rng.integers(0, 2, 200), rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    total, own = np.zeros((3, 3)), np.zeros((3, 3, 3))
    for t, s, w in zip(true, said, who, strict=True):
        total[t, s] += 1
        own[w, t, s] += 1
    total[2, 2] = 1
    together = (total + 0.1) / (total + 0.1).sum(-1, keepdims=True)
    np.testing.assert_allclose(count_confusion(true, said, 3)[0], together)
    each = count_confusion(true, said, 3, who, 3)
    shrunk = own + 10 * together
    np.testing.assert_allclose(each, shrunk / shrunk.sum(-1, keepdims=True))
    np.testing.assert_allclose(each[2], together)  # who said nothing is like the others
