from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from truelabel.data import Geometry
from truelabel.data import geometry as module
from truelabel.data.geometry import crop_start, refuse_absurd

TURNED = np.array([[0.0, -2.0, 0, 10], [1.5, 0, 0, -20], [0, 0, 3.0, 30], [0, 0, 0, 1]])
"""x and y change places, with spacings 1.5, 2 and 3."""


def volume(shape: tuple[int, ...] = (4, 6, 8), affine: npt.NDArray[Any] = TURNED) -> Geometry:
    return Geometry(shape, (1.5, 2.0, 3.0)[: len(shape)], affine)


def place(geometry: Geometry, *index: float) -> npt.NDArray[Any]:
    assert geometry.affine is not None
    position: npt.NDArray[Any] = geometry.affine @ [*index, *[0.0] * (3 - len(index)), 1.0]
    return position[:3]


def test_is_checked_and_cannot_be_changed() -> None:
    assert Geometry((2, 3, 4)).spacing == (1, 1, 1)
    for wrong in ((1.0,), (1.0, 0.0), (1.0, float("nan"))):
        with pytest.raises(ValueError, match="spacing"):
            Geometry((2, 3), wrong)
    for affine in (np.eye(3), np.full((4, 4), np.nan)):
        with pytest.raises(ValueError, match="affine"):
            Geometry((2, 3), (1, 1), affine)
    source = TURNED.copy()
    kept = volume(affine=source)
    source[0, 3] = 99
    assert kept.affine is not None
    assert kept.affine[0, 3] == 10
    with pytest.raises(ValueError, match="read-only"):
        kept.affine[0, 0] = 1


def test_the_spacing_is_that_of_the_affine_unless_told() -> None:
    np.testing.assert_allclose(Geometry((4, 6, 8), affine=TURNED).spacing, (1.5, 2, 3))
    np.testing.assert_allclose(Geometry((4, 6), affine=TURNED).spacing, (1.5, 2))
    assert Geometry((4, 6, 8), (1, 2, 3), TURNED).spacing == (1, 2, 3)
    array: Any = np.array([0.5, 2.0])
    np.testing.assert_array_equal(Geometry((4, 6), array).spacing, array)
    confused: Any = TURNED
    with pytest.raises(ValueError, match=r"spacing .* does not fit shape \(4, 6, 8\)"):
        Geometry((4, 6, 8), confused)


def test_the_same_grid_passes() -> None:
    rounded = TURNED.astype(np.float32).astype(float) + 1e-4
    volume().require_same(volume(affine=rounded), "a", "b")
    volume().require_same(Geometry((4, 6, 8)), "a.nii", "b.tif")
    Geometry((4, 6, 8)).require_same(volume(), "a.tif", "b.nii")


@pytest.mark.parametrize("entry", [(0, 3), (1, 0), (0, 0), (2, 1)])
def test_another_place_is_refused_with_both_names(entry: tuple[int, int]) -> None:
    moved = TURNED.copy()
    moved[entry] += 0.1
    with pytest.raises(ValueError, match=r"^b.nii lies elsewhere than a.nii \(a corner is 0.*mm off") as caught:
        volume().require_same(volume(affine=moved), "a.nii", "b.nii")
    assert "\n" not in str(caught.value)
    # The last axis moves the far corner by 0.1 for each of its steps.
    volume().require_same(volume(affine=moved), "a.nii", "b.nii", tolerance=1)


def test_another_shape_is_refused_with_both_names() -> None:
    with pytest.raises(ValueError, match="^b.png is 4 x 5 but a.png is 4 x 6: "):
        Geometry((4, 6)).require_same(Geometry((4, 5)), "a.png", "b.png")


@pytest.mark.parametrize("size", [(2, 6, 3), (5, 9, 8), (4, 6, 8)])
def test_a_crop_stays_where_it_was(size: tuple[int, int, int]) -> None:
    whole, crop = volume(), volume().cropped(size)
    start = crop_start(whole.shape, size)
    assert crop.shape == size
    assert crop.spacing == whole.spacing
    for index in ((0, 0, 0), (1, 2, 1)):
        np.testing.assert_allclose(place(crop, *index), place(whole, *np.add(index, start)))


@pytest.mark.parametrize("size", [(2, 3, 4), (8, 5, 8)])
def test_resizing_keeps_the_outer_edges(size: tuple[int, int, int]) -> None:
    whole, small = volume(), volume().resized(size)
    np.testing.assert_allclose(place(small, -0.5, -0.5, -0.5), place(whole, -0.5, -0.5, -0.5))
    ends = [n - 0.5 for n in size], [n - 0.5 for n in whole.shape]
    np.testing.assert_allclose(place(small, *ends[0]), place(whole, *ends[1]))
    np.testing.assert_allclose(np.multiply(small.spacing, size), np.multiply(whole.spacing, whole.shape))


def test_pictures_have_no_place_to_move() -> None:
    assert Geometry((4, 6)).cropped((2, 2)).affine is None
    assert Geometry((4, 6)).resized((2, 2)).affine is None
    flat = volume((4, 6)).cropped((2, 6))
    np.testing.assert_allclose(place(flat, 0, 0), place(volume((4, 6)), 1, 0))


def test_absurd_sizes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_absurd(Path("a.nii"), (10, 10))
    monkeypatch.setattr(module, "MOST_VOXELS", 99)
    with pytest.raises(ValueError, match=r"a.nii is absurdly large \(10 x 10\)"):
        refuse_absurd(Path("a.nii"), (10, 10))
