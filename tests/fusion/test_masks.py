from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from truelabel.coding import LabelError
from truelabel.fusion.masks import Masks, check_ties, decide


@pytest.mark.parametrize("kind", [bool, np.uint8, np.int8, np.int16, np.int64, np.uint64])
def test_integers_are_read_without_a_copy(kind: Any) -> None:
    masks = np.random.default_rng(0).integers(0, 2, (3, 4, 5)).astype(kind)
    read = Masks.read(masks)
    assert np.shares_memory(read.votes, masks)
    assert (read.space, read.classes, read.has_gaps) == ((4, 5), 2, False)
    np.testing.assert_array_equal(read.votes, masks.reshape(3, 20))


def test_whole_floats_with_nan_are_integers_with_gaps() -> None:
    read = Masks.read(np.array([[[0.0, 2.0], [np.nan, 1.0]]]))
    np.testing.assert_array_equal(read.votes, [[0, 2, -1, 1]])
    assert (read.classes, read.has_gaps) == (3, True)


def test_a_view_and_a_tensor_are_read_in_order() -> None:
    masks = np.random.default_rng(0).integers(-1, 3, (4, 5, 3))
    np.testing.assert_array_equal(Masks.read(np.moveaxis(masks, -1, 0)).votes, masks.reshape(20, 3).T)
    np.testing.assert_array_equal(Masks.read(torch.from_numpy(masks)).votes, masks.reshape(4, 15))


def test_there_are_two_classes_at_least_and_as_many_as_one_says() -> None:
    blank = np.zeros((2, 3, 3), np.uint8)
    assert Masks.read(blank).classes == 2
    assert Masks.read(blank, 5).classes == 5
    assert Masks.read(blank, 1).classes == 1
    assert Masks.read(blank + 40, 41).classes == 41


@pytest.mark.parametrize(
    ("masks", "classes", "message"),
    [
        ([0, 1, 1], None, r"masks must be \(readers, \*space\), got shape \(3,\): pass one mask as masks\[None\]"),
        (np.zeros((0, 4, 4), int), None, r"masks of shape \(0, 4, 4\) hold no voxel"),
        ([[0.0, 0.25]], None, "masks hold fractions such as 0.25: threshold or round them first"),
        ([["a", "b"]], None, "masks must hold integers, got <U1"),
        ([[0, -2]], None, "label -2 of masks is neither a class nor -1, which means no label"),
        ([[-1, -1], [-1, -1]], None, "masks hold no label: every voxel is -1"),
        ([[0, 1], [3, 1]], 3, r"label 3 of reader 1 is outside 0\.\.2: pass classes=4 or fix the mask"),
        (
            [[0, 255, 0, 255]],
            None,
            r"masks hold 2 different labels up to 255: recode them .* masks == 255\), or pass cl",
        ),
    ],
)
def test_bad_masks_are_refused_in_one_line(masks: Any, classes: int | None, message: str) -> None:
    with pytest.raises(LabelError, match=f"^{message}") as error:
        Masks.read(masks, classes)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("classes", [0, 2.5, True, "2"])
def test_classes_are_a_number(classes: Any) -> None:
    with pytest.raises(ValueError, match="classes must be a whole number of at least 1"):
        Masks.read([[0, 0]], classes)


def test_rounding_does_not_decide() -> None:
    probs = np.array([[0.5 - 1e-9, 0.5 + 1e-9], [0.5 + 1e-9, 0.5 - 1e-9], [0.5 - 1e-3, 0.5 + 1e-3]])
    assert decide(probs, "lowest").tolist() == [0, 0, 1]
    assert decide(probs, "highest").tolist() == [1, 1, 1]
    assert decide(probs, "missing").tolist() == [-1, -1, 1]


def test_there_are_three_rules() -> None:
    with pytest.raises(ValueError, match="^ties must be 'lowest', 'highest' or 'missing', got 'random'$"):
        check_ties("random")
