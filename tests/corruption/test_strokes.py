from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from skimage.measure import block_reduce
from skimage.morphology import dilation, disk, erosion, skeletonize
from skimage.transform import resize

from truelabel.corruption import Thickening, Thinning, TrueMask


def reference(mask: NDArray[Any], amount: float, operation: Any) -> NDArray[Any]:
    """The formulas of Castro 2019 on the whole image, with disks for footprints."""
    margin = 12
    framed = np.pad(mask, margin).astype(float)
    fine = resize(framed, [4 * size for size in framed.shape], order=1, anti_aliasing=False) > 0.5
    inside, outside = np.argwhere(fine), np.argwhere(~fine)
    axis = np.argwhere(skeletonize(fine))
    nearest = [np.sqrt(((outside - point) ** 2).sum(1).min()) for point in axis]
    assert len(inside) > len(axis)
    radius = math.floor(amount * 4 * (2 * np.mean(nearest) / 4) / 2)
    small = block_reduce(operation(fine, disk(radius)), (4, 4), np.mean) >= 0.5
    redrawn: NDArray[Any] = small[margin:-margin, margin:-margin].astype(mask.dtype)
    return redrawn


@pytest.mark.parametrize("amount", [0.3, 0.7, 1.0, 1.7])
def test_strokes_are_dilated_and_eroded_by_disks(digits: NDArray[Any], amount: float) -> None:
    for mask in digits[:4]:
        truth, generator = TrueMask(mask), torch.Generator()
        np.testing.assert_array_equal(Thickening(amount)(truth, generator), reference(mask, amount, dilation))
        np.testing.assert_array_equal(Thinning(amount)(truth, generator), reference(mask, amount, erosion))


def test_more_is_more(digits: NDArray[Any]) -> None:
    for mask in digits[:10]:
        truth, generator = TrueMask(mask), torch.Generator()
        thin, thick = mask, mask
        for amount in np.linspace(0, 2, 9):
            thinner, thicker = (reader(amount)(truth, generator) for reader in (Thinning, Thickening))
            assert (thinner <= thin).all()
            assert (thicker >= thick).all()
            thin, thick = thinner, thicker
        assert not thin.any(), "the thickest stroke is less than twice the mean"
        assert thick.sum() > 2 * mask.sum()


@pytest.mark.parametrize("reader", [Thickening, Thinning])
def test_nothing_comes_of_nothing(reader: Any) -> None:
    for amount in (0.0, 1.0, 5.0):
        assert not reader(amount)(TrueMask(np.zeros((6, 8), np.int16)), torch.Generator()).any()


def test_a_pixel_grows_and_vanishes() -> None:
    pixel = TrueMask(np.pad(np.ones((1, 1), np.int16), 3))
    assert Thickening(4.0)(pixel, torch.Generator()).sum() > 1
    assert Thinning(0.1)(pixel, torch.Generator()).sum() == 1
    assert Thinning(2.0)(pixel, torch.Generator()).sum() == 0


def test_a_full_mask_stays_full_or_shrinks_from_the_border() -> None:
    full = TrueMask(np.ones((9, 11), np.int16))
    assert Thickening(1.0)(full, torch.Generator()).all()
    thin = Thinning(0.3)(full, torch.Generator())
    assert thin[4, 5]
    assert not thin[0].any()
    assert not thin[:, -1].any()


def test_the_kind_of_the_mask_is_kept(digits: NDArray[Any]) -> None:
    for kind in (np.uint8, np.int16, np.int64, bool):
        mask = digits[0].astype(kind)
        for reader in (Thickening(), Thinning()):
            drawn = reader(TrueMask(mask), torch.Generator())
            assert drawn.dtype == kind
            assert drawn.shape == mask.shape


@pytest.mark.parametrize("reader", [Thickening, Thinning])
@pytest.mark.parametrize("amount", [-0.1, float("nan"), float("inf"), "1"])
def test_amounts_that_are_none_are_refused(reader: Any, amount: Any) -> None:
    with pytest.raises(ValueError, match="amount must be a number of at least 0, got"):
        reader(amount)
