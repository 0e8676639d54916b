from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional

from truelabel.data import Geometry, centre_crop, normalise_case, resample, resize
from truelabel.data.preparation import Preparation

RNG = np.random.default_rng(0)


@given(have=st.integers(1, 9), want=st.integers(1, 9))
def test_a_crop_or_padding_is_centred(have: int, want: int) -> None:
    values = np.arange(1, have + 1)
    cut = centre_crop(np.stack([values, values]), (want,), fill=-1)
    assert cut.shape == (2, want)
    row = cut[0].tolist()
    kept = [value for value in row if value != -1]
    assert kept == [value for value in values.tolist() if value in kept]
    assert len(kept) == min(have, want)
    before, after = kept[0] - 1, have - kept[-1]
    assert 0 <= after - before <= 1
    front, back = row.index(kept[0]), row[::-1].index(kept[-1])
    assert 0 <= front - back <= 1


def test_a_crop_of_the_last_axes_keeps_the_type() -> None:
    volume = RNG.normal(size=(4, 10, 12, 7)).astype(np.float32)
    cut = centre_crop(volume, (6, 12, 9))
    assert cut.dtype == np.float32
    np.testing.assert_array_equal(cut[:, :, :, 1:8], volume[:, 2:8])
    assert (cut[..., 0] == 0).all()
    for wrong in ((), (0,), (1, 1, 1, 1, 1)):
        with pytest.raises(ValueError, match="size"):
            centre_crop(volume, wrong)


@pytest.mark.parametrize("size", [(4, 6), (12, 5), (3, 3), (8, 12)])
def test_nearest_pixels_are_those_of_torch(size: tuple[int, int]) -> None:
    mask = RNG.integers(-1, 5, (8, 12)).astype(np.int16)
    expected = functional.interpolate(torch.from_numpy(mask)[None, None].float(), size, mode="nearest-exact")[0, 0]
    resized = resize(mask, size, order=0)
    assert resized.dtype == np.int16
    np.testing.assert_array_equal(resized, expected)


def test_linear_growth_is_that_of_torch() -> None:
    volume = RNG.normal(size=(2, 4, 5, 6)).astype(np.float32)
    expected = functional.interpolate(torch.from_numpy(volume)[None], (7, 10, 6), mode="trilinear")[0]
    resized = resize(volume, (7, 10, 6))
    assert resized.dtype == np.float32
    np.testing.assert_allclose(resized, expected, atol=1e-5)


def test_shrinking_smooths_and_bytes_stay_bytes() -> None:
    checks = np.indices((64, 64)).sum(0) % 2 * np.uint8(255)
    small = resize(checks[None].astype(np.uint8), (16, 16))
    assert small.dtype == np.uint8
    assert small[0, 4:12, 4:12].std() < 10
    assert abs(float(small.mean()) - 127.5) < 5
    np.testing.assert_array_equal(resize(checks, (64, 64)), checks)
    with pytest.raises(ValueError, match="order 7"):
        resize(checks, (4, 4), order=7)


def test_resampling_goes_by_spacing() -> None:
    # A ramp of one unit per millimetre stays one at any spacing, away from the edges.
    ramp = np.arange(20, dtype=np.float32)[:, None] * np.ones(6, np.float32)
    fine = resample(ramp, (1, 1), (0.5, 2))
    assert fine.shape == (40, 3)
    np.testing.assert_allclose(np.diff(fine[4:-4, 1]), 0.5, atol=1e-5)
    assert resample(ramp, (1, 1), (0.9, 1), order=0).shape == (22, 6)
    assert resample(ramp, (1, 1), (100, 1)).shape == (1, 6)
    for wrong in ((1.0,), (0.0, 1.0), (1.0, float("inf"))):
        with pytest.raises(ValueError, match="spacing"):
            resample(ramp, (1, 1), wrong)


def test_cases_are_normalised_channel_by_channel() -> None:
    volume = RNG.normal([[[3.0]], [[-20.0]]], [[[2.0]], [[9.0]]], (2, 30, 30))
    everywhere = normalise_case(volume, "all")
    assert everywhere.dtype == np.float32
    np.testing.assert_allclose(everywhere.mean((1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(everywhere.std((1, 2)), 1, atol=1e-5)
    volume[:, :10] = 0
    brain = normalise_case(volume)
    assert (brain[:, :10] == 0).all()
    np.testing.assert_allclose(brain[:, 10:].mean((1, 2)), 0, atol=1e-5)
    np.testing.assert_allclose(brain[:, 10:].std((1, 2)), 1, atol=1e-5)


def test_flat_channels_become_zero() -> None:
    volume = np.stack([np.zeros((4, 4)), np.full((4, 4), 7.0)])
    for where in ("nonzero", "all"):
        assert (normalise_case(volume, where) == 0).all()
    with pytest.raises(ValueError, match="where 'some'"):
        normalise_case(volume, "some")  # type: ignore[arg-type]


def corner(geometry: Geometry, mask: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The middle of the marked pixels in the world."""
    assert geometry.affine is not None
    middle: npt.NDArray[Any] = geometry.affine @ [*np.argwhere(mask == 1).mean(0), 1.0]
    return middle


@pytest.mark.parametrize(
    "preparation",
    [Preparation(spacing=(1, 1, 1)), Preparation(size=(8, 8, 24)), Preparation(crop=(12, 12, 12))],
)
def test_the_grid_follows_what_is_done(preparation: Preparation) -> None:
    geometry = Geometry((16, 16, 8), (2.0, 0.5, 1.0), np.diag([2.0, 0.5, 1.0, 1.0]))
    mask = np.zeros((16, 16, 8), np.int16)
    mask[4:8, 4:12, 2:6] = 1
    after, grid = preparation.mask(mask, geometry), preparation.geometry(geometry)
    assert after.shape == grid.shape
    np.testing.assert_allclose(corner(grid, after), corner(geometry, mask), atol=1e-9)
    image = preparation.image(mask[None].astype(np.float32), geometry)
    assert image.shape == (1, *grid.shape)


def test_padding_has_no_label_and_normalising_comes_first() -> None:
    preparation = Preparation(normalise="all", crop=(6, 6))
    geometry = Geometry((4, 4))
    image = preparation.image(RNG.normal(5, 3, (2, 4, 4)), geometry)
    np.testing.assert_allclose(image[:, 1:5, 1:5].mean((1, 2)), 0, atol=1e-6)
    np.testing.assert_allclose(image[:, 1:5, 1:5].std((1, 2)), 1, atol=1e-5)
    mask = preparation.mask(np.zeros((4, 4), np.int16), geometry)
    assert (mask[1:5, 1:5] == 0).all()
    assert (mask == -1).sum() == 20


def test_wrong_preparations_are_refused() -> None:
    with pytest.raises(ValueError, match="are both given"):
        Preparation(size=(4, 4), crop=(4, 4))
    with pytest.raises(ValueError, match="normalise 'some'"):
        Preparation(normalise="some")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"size \(4,\) does not fit 2 axes"):
        Preparation(crop=(4,)).geometry(Geometry((4, 4)))
