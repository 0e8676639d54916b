"""Who is held out with whom."""

from __future__ import annotations

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.quality import assign_folds, check_folds


@pytest.mark.parametrize("folds", [2, 3, 5])
def test_folds_are_equal_and_so_are_their_majorities(folds: int) -> None:
    rng = np.random.default_rng(0)
    said = Annotations.from_matrix(rng.integers(0, 3, (103, 3)))
    fold = assign_folds(said, folds, seed=4)
    sizes = np.bincount(fold)
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1
    majority = said.vote_counts().argmax(-1)
    for kind in range(3):
        each = np.bincount(fold[majority == kind], minlength=folds)
        assert each.max() - each.min() <= 1


def test_the_seed_decides() -> None:
    said = Annotations.from_labels(np.arange(60) % 2)
    assert np.array_equal(assign_folds(said, 5, 1), assign_folds(said, 5, 1))
    assert not np.array_equal(assign_folds(said, 5, 1), assign_folds(said, 5, 2))
    assert not np.array_equal(assign_folds(said, 5, 1), np.arange(60) % 5)


def test_masks_and_few_examples() -> None:
    masks = Annotations.from_masks(np.ones((4, 1, 2, 2), int), classes=2)
    assert sorted(assign_folds(masks, 2).tolist()) == [0, 0, 1, 1]
    assert sorted(assign_folds(masks, 9).tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("wrong", [1, -2, 2.5, True])
def test_a_number_that_leaves_nothing_to_learn_from_is_refused(wrong: object) -> None:
    check_folds(0)
    check_folds(2)
    with pytest.raises(ValueError, match="folds must be"):
        check_folds(wrong)  # type: ignore[arg-type]
