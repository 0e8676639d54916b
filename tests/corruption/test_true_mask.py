from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.ndimage import zoom
from scipy.spatial.distance import cdist
from skimage.morphology import medial_axis

from truelabel.corruption import TrueMask
from truelabel.corruption.true_mask import SCALE

MASKS = arrays(np.int16, st.tuples(st.integers(1, 9), st.integers(1, 9)), elements=st.integers(0, 1))


@settings(deadline=None, max_examples=200)
@given(mask=MASKS)
def test_what_is_not_redrawn_comes_back(mask: NDArray[Any]) -> None:
    truth = TrueMask(mask)
    np.testing.assert_array_equal(truth.redrawn(truth.fine), mask)
    np.testing.assert_array_equal(truth.redrawn(np.pad(truth.fine, 3 * SCALE), 3), mask)


def test_it_is_enlarged_bilinearly(digits: NDArray[Any]) -> None:
    for mask in digits[:5]:
        truth = TrueMask(mask)
        framed = np.pad(mask, 1).astype(float)
        large = zoom(framed, SCALE, order=1, mode="nearest", grid_mode=True) > 0.5
        top, left = (SCALE * (start + 1) for start in truth.corner)
        height, width = truth.fine.shape
        np.testing.assert_array_equal(truth.fine, large[top : top + height, left : left + width])
        assert truth.fine.sum() == large.sum(), "nothing lies outside"


def test_distances_are_to_the_nearest_background(digits: NDArray[Any]) -> None:
    truth = TrueMask(digits[0])
    inside, outside = np.argwhere(truth.fine), np.argwhere(~truth.fine)
    np.testing.assert_allclose(truth.distance[truth.fine], cdist(inside, outside).min(1))


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8])
def test_a_bar_is_as_thick_as_it_is(width: int) -> None:
    bar = np.pad(np.ones((width, 60), np.int16), 3)
    assert TrueMask(bar).thickness == pytest.approx(width, abs=0.15 * width)
    assert TrueMask(bar.T.copy()).thickness == pytest.approx(width, abs=0.15 * width)


def test_digits_are_about_as_thick_as_on_the_medial_axis(digits: NDArray[Any]) -> None:
    ours, theirs = [], []
    for mask in digits[:10]:
        truth = TrueMask(mask)
        ours.append(truth.thickness)
        theirs.append(2 * truth.distance[medial_axis(truth.fine, rng=0)].mean() / SCALE)
    assert np.mean(ours) == pytest.approx(np.mean(theirs), rel=0.1)


def test_an_empty_mask_has_no_thickness() -> None:
    truth = TrueMask(np.zeros((5, 7), int))
    assert truth.thickness == 0
    assert not truth.skeleton.any()


def test_a_full_mask_ends_where_the_image_does() -> None:
    truth = TrueMask(np.ones((5, 7), int))
    assert truth.corner == (-1, -1)
    assert truth.distance.max() == 2.5 * SCALE
    assert truth.redrawn(truth.fine).all()


def test_what_is_redrawn_beyond_the_image_is_cut_off() -> None:
    truth = TrueMask(np.pad(np.ones((1, 1), int), ((0, 3), (2, 0))))
    assert truth.redrawn(np.ones((7 * SCALE, 7 * SCALE), bool), 2).tolist() == [[1, 1, 1]] * 4
    assert truth.redrawn(np.ones((3 * SCALE, 3 * SCALE), bool)).tolist() == [[0, 1, 1]] * 2 + [[0, 0, 0]] * 2


def test_half_a_pixel_is_enough() -> None:
    truth = TrueMask(np.ones((1, 1), int))
    fine = np.zeros((3 * SCALE, 3 * SCALE), bool)
    fine[SCALE : SCALE + 2, SCALE : 2 * SCALE] = True
    assert truth.redrawn(fine).tolist() == [[1]]
    fine[SCALE, SCALE] = False
    assert truth.redrawn(fine).tolist() == [[0]]


@pytest.mark.parametrize("mask", [np.zeros((2, 2, 2), int), np.array([[0, 2]]), np.array([[-1, 1]])])
def test_strokes_of_other_masks_are_refused(mask: NDArray[Any]) -> None:
    with pytest.raises(ValueError, match=r"strokes are those of a mask \(H, W\) of zeros and ones, got"):
        TrueMask(mask).fine  # noqa: B018


def test_probabilities_are_refused() -> None:
    with pytest.raises(ValueError, match="mask must hold integers, got float64"):
        TrueMask(np.zeros((2, 2)))
