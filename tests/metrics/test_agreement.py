from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from sklearn.metrics import cohen_kappa_score

from truelabel.annotations import Annotations
from truelabel.metrics import cohen_kappa, fleiss_kappa, krippendorff_alpha
from truelabel.metrics.agreement import Level

Matrix = NDArray[np.int64]

WIKIPEDIA = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]
"""Ten subjects, fourteen raters, five categories: the worked example of most introductions to Fleiss' kappa."""

KRIPPENDORFF = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, -1, -1, -1],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, -1, 3],
    [-1, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, -1],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, -1],
]
"""Four observers, twelve units, with missing values: example C of Krippendorff 2011."""


def from_counts(counts: list[list[int]]) -> Annotations:
    return Annotations.from_matrix([[k for k, count in enumerate(row) for _ in range(count)] for row in counts])


def test_fleiss_of_the_worked_example() -> None:
    assert fleiss_kappa(from_counts(WIKIPEDIA)) == pytest.approx(0.210, abs=5e-4)


@pytest.mark.parametrize(("level", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_of_the_worked_example(level: Level, published: float) -> None:
    annotations = Annotations.from_matrix(np.transpose(KRIPPENDORFF))
    assert krippendorff_alpha(annotations, level) == pytest.approx(published, abs=5e-4)


def slow_fleiss(matrix: Matrix) -> float:
    rows = [[label for label in row if label >= 0] for row in matrix.tolist()]
    rows = [row for row in rows if len(row) >= 2]
    agreed = [[a == b for a, b in itertools.permutations(row, 2)] for row in rows]
    observed = sum(sum(pairs) / len(pairs) for pairs in agreed) / len(rows)
    labels = [label for row in rows for label in row]
    chance = sum((labels.count(k) / len(labels)) ** 2 for k in set(labels))
    return (observed - chance) / (1 - chance) if len(set(labels)) > 1 else math.nan


def slow_alpha(matrix: Matrix, level: Level) -> float:
    rows = [[label for label in row if label >= 0] for row in matrix.tolist()]
    rows = [row for row in rows if len(row) >= 2]
    labels = [label for row in rows for label in row]

    def difference(a: int, b: int) -> float:
        if level == "nominal":
            return float(a != b)
        if level == "interval":
            return float((a - b) ** 2)
        between = sum(min(a, b) <= label <= max(a, b) for label in labels)
        return (between - (labels.count(a) + labels.count(b)) / 2) ** 2 if a != b else 0.0

    pairs = [sum(difference(a, b) for a, b in itertools.permutations(row, 2)) / (len(row) - 1) for row in rows]
    observed = sum(pairs) / len(labels)
    expected = sum(difference(a, b) for a, b in itertools.permutations(labels, 2)) / (len(labels) * (len(labels) - 1))
    return 1 - observed / expected if expected else math.nan


MATRICES = arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(2, 4)), elements=st.integers(-1, 3)).filter(
    lambda matrix: bool(((matrix >= 0).sum(1) >= 2).any())
)


@settings(max_examples=150, deadline=None)
@given(MATRICES)
def test_agreement_is_that_of_the_definitions(matrix: Matrix) -> None:
    annotations = Annotations.from_matrix(matrix, classes=4)
    assert fleiss_kappa(annotations) == pytest.approx(slow_fleiss(matrix), nan_ok=True)
    levels: tuple[Level, ...] = ("nominal", "ordinal", "interval")
    for level in levels:
        assert krippendorff_alpha(annotations, level) == pytest.approx(slow_alpha(matrix, level), nan_ok=True, abs=1e-9)


def crowd(seed: int = 0) -> Matrix:
    """Eighty examples of four classes, seven annotators of various skill, a third of the labels missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=(80, 1))
    said = np.where(rng.random((80, 7)) < np.linspace(0.2, 0.95, 7), truth, rng.integers(4, size=(80, 7)))
    return np.where(rng.random((80, 7)) < 0.33, -1, said)


def test_pairwise_kappa_is_that_of_scikit_learn() -> None:
    matrix = crowd()
    kappa = cohen_kappa(Annotations.from_matrix(matrix))
    assert kappa.shape == (7, 7)
    np.testing.assert_array_equal(kappa, kappa.T)
    for a, b in itertools.product(range(7), repeat=2):
        both = (matrix[:, a] >= 0) & (matrix[:, b] >= 0)
        assert kappa[a, b] == pytest.approx(cohen_kappa_score(matrix[both, a], matrix[both, b]))


def test_pairs_without_a_common_example_are_unknown() -> None:
    kappa = cohen_kappa(Annotations.from_matrix([[0, -1, 1], [1, -1, 0], [-1, 0, 1], [-1, 1, -1]], classes=2))
    assert np.isnan(kappa[0, 1])
    assert kappa[0, 2] == -1.0
    assert kappa[1, 2] == 0.0, "one common example, on which they differ, is no more than chance"
    np.testing.assert_array_equal(kappa.diagonal(), 1.0)


def test_agreement_on_one_class_alone_is_undefined() -> None:
    annotations = Annotations.from_matrix([[1, 1], [1, 1], [0, -1]])
    assert np.isnan(cohen_kappa(annotations)[0, 1])
    assert math.isnan(fleiss_kappa(annotations))
    assert math.isnan(krippendorff_alpha(annotations))
    assert math.isnan(krippendorff_alpha(annotations, "interval"))


def test_full_agreement_is_one_and_that_of_chance_near_zero() -> None:
    full = Annotations.from_matrix(np.repeat([[0], [1], [2]], 4, axis=1))
    chance = Annotations.from_matrix(np.random.default_rng(0).integers(3, size=(4000, 4)))
    assert fleiss_kappa(full) == krippendorff_alpha(full) == krippendorff_alpha(full, "ordinal") == 1.0
    np.testing.assert_array_equal(cohen_kappa(full), 1.0)
    assert abs(fleiss_kappa(chance)) < 0.02
    assert abs(krippendorff_alpha(chance, "ordinal")) < 0.03
    assert np.abs(cohen_kappa(chance) - np.eye(4)).max() < 0.06


def test_examples_with_one_label_do_not_count() -> None:
    matrix = crowd()
    more = np.vstack([matrix, [[3, -1, -1, -1, -1, -1, -1]] * 20, np.full((5, 7), -1)])
    few, many = Annotations.from_matrix(matrix), Annotations.from_matrix(more)
    assert fleiss_kappa(many) == fleiss_kappa(few)
    assert krippendorff_alpha(many, "ordinal") == krippendorff_alpha(few, "ordinal")
    np.testing.assert_array_equal(cohen_kappa(many), cohen_kappa(few))


def test_silent_annotators_and_classes_do_not_matter() -> None:
    matrix = crowd()
    silent = Annotations.from_matrix(np.hstack([matrix, np.full((80, 1), -1)]), classes=9)
    assert fleiss_kappa(silent) == pytest.approx(fleiss_kappa(Annotations.from_matrix(matrix)))
    assert np.isnan(cohen_kappa(silent)[-1, :-1]).all()


def test_intervals_are_between_the_names_of_classes() -> None:
    annotations = Annotations.from_matrix([[1, 2], [10, 10], [2, 10]])
    expected = slow_alpha(np.array([[1, 2], [10, 10], [2, 10]]), "interval")
    assert krippendorff_alpha(annotations, "interval") == pytest.approx(expected)
    shifted = Annotations.from_matrix(np.array([[1, 2], [10, 10], [2, 10]]) + 10_000_000)
    assert krippendorff_alpha(shifted, "interval") == pytest.approx(expected)


def test_order_is_that_of_the_classes() -> None:
    said = [["low", "mid"], ["high", "high"], ["low", "low"]]
    ordered = Annotations.from_matrix(said, classes=["low", "mid", "high"])
    numbers = Annotations.from_matrix([[0, 1], [2, 2], [0, 0]])
    assert krippendorff_alpha(ordered, "ordinal") == krippendorff_alpha(numbers, "ordinal")
    with pytest.raises(ValueError, match="level 'interval' needs classes that are numbers, got low, mid, high: use"):
        krippendorff_alpha(ordered, "interval")


def test_cost_follows_the_labels_given() -> None:
    # A table of examples by classes, or of examples by annotators, would not fit.
    n, rng = 300_000, np.random.default_rng(0)
    annotator = np.sort(rng.integers(0, 1500, (n, 2)) * 2 + [0, 1], axis=1).ravel()
    label = np.repeat(rng.integers(0, 30_000, n), 2)
    annotations = Annotations(
        np.repeat(np.arange(n, dtype=np.int32), 2),
        annotator.astype(np.int32),
        label.astype(np.int16),
        np.arange(n),
        np.arange(3000),
        tuple(range(30_000)),
    )
    assert fleiss_kappa(annotations) == pytest.approx(1.0)
    assert krippendorff_alpha(annotations, "interval") == pytest.approx(1.0)


def test_what_cannot_be_measured_is_refused() -> None:
    single = Annotations.from_matrix([[0, -1], [-1, 1]])
    for statistic in (fleiss_kappa, krippendorff_alpha):
        with pytest.raises(ValueError, match="annotations has no example with two labels"):
            statistic(single)
    masks = Annotations.from_masks(np.zeros((1, 2, 3, 3), int), classes=2)
    refused: tuple[Callable[[Annotations], object], ...] = (fleiss_kappa, krippendorff_alpha, cohen_kappa)
    for function in refused:
        with pytest.raises(ValueError, match="annotations holds masks"):
            function(masks)
    with pytest.raises(ValueError, match="level must be 'nominal', 'ordinal' or 'interval', got 'ratio'"):
        krippendorff_alpha(single, "ratio")  # type: ignore[arg-type]
