"""Wrong labels found with probabilities of one's own."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

import truelabel as tl
from truelabel import Annotations, find_label_errors
from truelabel.quality import confident
from truelabel.quality.label_errors import LabelErrors

T = np.array([[0.7, 0.3, 0.0, 0.0], [0.0, 0.9, 0.1, 0.0], [0.0, 0.0, 1.0, 0.0], [0.2, 0.0, 0.0, 0.8]])
Case = tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]


def case(seed: int = 0, count: int = 6000) -> Case:
    """What a calibrated classifier predicts of labels that T made wrong, the labels, the truth."""
    rng = np.random.default_rng(seed)
    clean = rng.dirichlet(np.full(4, 0.08), count)
    truth = np.array([rng.choice(4, p=row) for row in clean])
    labels = np.array([rng.choice(4, p=row) for row in T[truth]])
    return clean @ T, labels, truth


def test_it_ranks_better_than_the_probability_of_the_label_and_its_margin() -> None:
    probs, labels, truth = case()
    wrong, rows = labels != truth, np.arange(len(labels))
    found = find_label_errors(probs, labels)
    ours = average_precision_score(wrong, 1 - found.quality)
    own = probs[rows, labels]
    others = probs.copy()
    others[rows, labels] = 0
    assert ours > average_precision_score(wrong, -own) + 0.03
    assert ours > average_precision_score(wrong, others.max(-1) - own) + 0.03


def test_confusion_noise_rate_and_quality_are_near_the_truth() -> None:
    probs, labels, truth = case(1)
    found = find_label_errors(probs, labels)
    np.testing.assert_allclose(found.confusion, T[None], atol=0.06)
    assert found.noise_rate == pytest.approx((labels != truth).mean(), abs=0.03)
    # About as probable as it says, in ten parts of equal size; two rounds leave it a little too cautious.
    for part in np.array_split(np.argsort(found.quality), 10):
        assert found.quality[part].mean() == pytest.approx((labels == truth)[part].mean(), abs=0.2)
    assert (labels != truth)[found.errors].mean() > 0.7
    assert (found.suggested[found.errors] == truth[found.errors]).mean() > 0.7
    assert (found.suggested[found.errors] != labels[found.errors]).all()


def test_mask_and_ranking_fit_together() -> None:
    probs, labels, _ = case(2)
    found = find_label_errors(probs, labels)
    assert sorted(found.ranked.tolist()) == np.flatnonzero(found.errors).tolist()
    assert (np.diff(found.quality[found.ranked]) >= 0).all()
    assert (probs.argmax(-1)[found.errors] != labels[found.errors]).all()
    assert 0 < len(found.ranked) <= round(found.noise_rate * len(labels))


def judged(probs: NDArray[np.float64], labels: NDArray[np.int64], confusion: NDArray[np.float64]) -> Any:
    """Two rounds of Richardson–Lucy and Bayes' rule, example by example in double precision."""
    quality = []
    for row, said in zip(probs, labels, strict=True):
        prior = row.copy()
        for _ in range(2):
            prior *= confusion @ (row / (prior @ confusion))
        joint = prior * confusion[:, said]
        quality.append(joint[said] / joint.sum())
    return quality


@pytest.mark.parametrize("chunk", [2**18, 50])
def test_quality_is_what_the_formula_says(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confident, "_CHUNK", chunk)
    probs, labels, _ = case(3, 300)
    found = find_label_errors(probs, labels)
    np.testing.assert_allclose(found.quality, judged(probs, labels, found.confusion[0]), atol=1e-4)


def test_names_and_positions_are_the_same() -> None:
    probs, labels, _ = case(4, 400)
    names = ["d", "c", "b", "a"]
    plain = find_label_errors(probs.astype(np.float32), labels.astype(np.int8))
    named = find_label_errors(probs.astype(np.float32), np.array(names)[labels], classes=names)
    assert np.array_equal(plain.quality, named.quality)
    assert named.suggested.tolist() == [names[k] for k in plain.suggested]
    assert isinstance(tl.find_label_errors(probs, labels.tolist()), LabelErrors)


def test_several_annotators_are_judged_by_their_own_matrices() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 3000)
    probs = 0.1 + 0.7 * np.eye(3)[np.where(rng.random(3000) < 0.8, truth, rng.integers(0, 3, 3000))]
    right = rng.random((3000, 3)) < [0.95, 0.7, 0.4]
    matrix = np.where(right, truth[:, None], (truth[:, None] + rng.integers(1, 3, (3000, 3))) % 3)
    matrix[rng.random(matrix.shape) < 0.3] = -1
    found = find_label_errors(probs, matrix)
    said = Annotations.from_matrix(matrix, classes=3)
    skill = found.confusion.diagonal(axis1=1, axis2=2).mean(-1)
    assert skill[0] > skill[1] + 0.1 > skill[2] + 0.2
    wrong = said.label != truth[said.example]
    assert average_precision_score(wrong, 1 - found.quality) > 0.85
    assert np.array_equal(find_label_errors(probs, said).quality, found.quality)
    assert len(found.errors) == said.size
    assert (found.suggested[found.errors] != said.label[found.errors]).all()


@pytest.mark.parametrize(
    ("probs", "labels", "options", "message"),
    [
        (np.eye(2), [0, 2], {}, r"label 2 in row 1 is outside 0\.\.1, the columns of pred_probs"),
        (np.eye(2), [0, -1], {}, r"label -1 in row 1 is outside"),
        (np.eye(2), ["a", "b"], {}, "labels must be positions of classes, got <U1: pass classes= for names"),
        (np.eye(2), [0], {}, r"labels must be \(2,\)"),
        (np.ones((2, 2)), [0, 1], {}, "row 0 of pred_probs is no probabilities"),
        (np.ones(2), [0, 1], {}, r"pred_probs must be \(N, K\)"),
        (np.ones((2, 1)), [0, 0], {}, r"pred_probs must be \(N, K\)"),
        (np.eye(2), [0, 1], {"classes": ["a"]}, "classes names 1, but pred_probs has 2 columns"),
        (np.eye(2), Annotations.from_labels([0, 1, 2]), {}, "labels are of 3 examples and 3 classes"),
        (np.eye(2), Annotations.from_labels([0, 1]), {"classes": [1, 0]}, r"classes are \[1, 0\], but labels have"),
        (np.eye(2), Annotations.from_masks(np.ones((2, 1, 2, 2), int), classes=2), {}, "for masks use suspect_regions"),
    ],
)
def test_bad_input_is_one_line(probs: Any, labels: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        find_label_errors(probs, labels, **options)
    assert "\n" not in str(caught.value)


def test_memory_follows_examples_and_not_examples_times_classes() -> None:
    labels = np.arange(50_000) % 100
    probs = np.full((50_000, 100), 0.001, np.float32)
    probs[np.arange(50_000), labels] = 0.901
    tracemalloc.start()
    find_label_errors(probs, labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * probs.nbytes  # a copy would be all of it


def test_labels_that_are_all_right_are_left_alone() -> None:
    labels = np.arange(300) % 3
    found = find_label_errors(0.01 / 3 + 0.99 * np.eye(3)[labels], labels)
    assert not found.errors.any()
    assert found.quality.min() > 0.99
