from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.ndimage import generate_binary_structure, grey_dilation, grey_erosion, label

from truelabel.corruption import Thickening, digit_readers, lesion_readers, tumour_readers


def drawn(readers: Any, masks: NDArray[Any]) -> dict[str, NDArray[Any]]:
    annotations = readers(torch.from_numpy(masks), None, torch.Generator().manual_seed(0))
    return dict(zip(annotations.annotators.tolist(), annotations.matrix().swapaxes(0, 1), strict=True))


def test_digits_are_read_in_five_ways(digits: NDArray[Any]) -> None:
    masks = drawn(digit_readers(), digits)
    assert list(masks) == ["good", "over", "under", "wrong", "blank"]
    np.testing.assert_array_equal(masks["good"], digits)
    assert (masks["over"] >= digits).all()
    assert (masks["under"] <= digits).all()
    assert not masks["blank"].any()
    sizes = {name: mask.sum() / digits.sum() for name, mask in masks.items()}
    assert sizes["under"] < 0.7 < 1 < sizes["wrong"] < sizes["over"]
    assert ((masks["wrong"] < digits).sum((1, 2)) > 0).mean() > 0.5, "most keep a gap"
    pieces = {name: np.mean([label(mask)[1] for mask in masks[name]]) for name in ("good", "wrong")}
    assert pieces["wrong"] > pieces["good"]


def test_amounts_may_be_chosen(digits: NDArray[Any]) -> None:
    masks = drawn(digit_readers(over=0.4, under=0.0, fractures=0), digits)
    np.testing.assert_array_equal(masks["under"], digits)
    readers = digit_readers(over=0.4, under=0.0, fractures=0).readers
    assert readers["over"] == Thickening(0.4)
    assert (masks["wrong"] >= digits).all()
    assert masks["wrong"].sum() < masks["over"].sum()


@pytest.mark.parametrize("space", [(12, 12), (7, 8, 9)])
def test_tumours_are_read_in_four_ways(space: tuple[int, ...]) -> None:
    truth = np.random.default_rng(0).integers(0, 4, (3, *space))
    masks = drawn(tumour_readers(), truth)
    assert list(masks) == ["good", "over", "under", "wrong"]
    size = (1, *[3] * len(space))
    np.testing.assert_array_equal(masks["good"], truth)
    np.testing.assert_array_equal(masks["over"], grey_dilation(truth, size))
    np.testing.assert_array_equal(masks["under"], grey_erosion(truth, size))
    # 1 → 4, 4 → 2, 2 → 1 in the numbers of BraTS.
    brats = np.array([0, 1, 2, 4])
    renamed = np.select([brats[truth] == 1, brats[truth] == 4, brats[truth] == 2], [4, 2, 1], 0)
    np.testing.assert_array_equal(brats[masks["wrong"]], renamed)


def test_lesions_are_read_in_five_ways() -> None:
    truth = (np.random.default_rng(0).random((2, 9, 10, 11)) > 0.1).astype(np.int64)
    masks = drawn(lesion_readers(), truth)
    assert list(masks) == ["good", "over", "under", "wrong", "blank"]
    cross = generate_binary_structure(3, 1)[None]
    np.testing.assert_array_equal(masks["good"], truth)
    np.testing.assert_array_equal(masks["over"], grey_dilation(truth, footprint=cross))
    np.testing.assert_array_equal(masks["under"], grey_erosion(grey_erosion(truth, footprint=cross), footprint=cross))
    for mask, true in zip(masks["wrong"], truth, strict=True):
        kept = mask[true == 1]
        np.testing.assert_array_equal(kept, np.arange(len(kept)) // 100 % 2)
    assert not masks["blank"].any()


@pytest.mark.parametrize("make", [digit_readers, tumour_readers, lesion_readers])
def test_one_reader_an_image(make: Any) -> None:
    annotations = make(labels_per_example=1)(
        torch.ones(50, 6, 6, dtype=torch.long), None, torch.Generator().manual_seed(0)
    )
    assert annotations.counts.tolist() == [1] * 50
    assert (annotations.workload > 0).all()
