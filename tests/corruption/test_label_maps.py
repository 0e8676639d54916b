from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from truelabel.corruption import GreyDilation, GreyErosion, Relabelling, TrueMask


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def reference(mask: NDArray[Any], radius: int, choose: Any) -> NDArray[Any]:
    """The largest or smallest label of the part of the cube that lies in the image."""
    drawn = mask.copy()
    for place in np.ndindex(mask.shape):
        window = tuple(slice(max(0, at - radius), at + radius + 1) for at in place)
        drawn[place] = choose(mask[window])
    return drawn


@pytest.mark.parametrize("space", [(9,), (7, 6), (5, 6, 4)])
@pytest.mark.parametrize("radius", [0, 1, 2])
def test_cubes_are_searched(space: tuple[int, ...], radius: int) -> None:
    mask = np.random.default_rng(0).integers(0, 4, space).astype(np.int16)
    truth = TrueMask(mask)
    np.testing.assert_array_equal(GreyDilation(radius)(truth, generator()), reference(mask, radius, np.max))
    np.testing.assert_array_equal(GreyErosion(radius)(truth, generator()), reference(mask, radius, np.min))


@pytest.mark.parametrize("reader", [GreyDilation, GreyErosion])
def test_a_fraction_of_a_radius_is_drawn(reader: Any) -> None:
    truth = TrueMask(np.random.default_rng(1).integers(0, 4, (9, 9)))
    one, two = (reader(radius)(truth, generator()) for radius in (1, 2))
    drawn = [reader(1.25)(truth, generator(seed)) for seed in range(200)]
    wide = np.array([(mask == two).all() for mask in drawn])
    assert all((mask == one).all() for mask, is_wide in zip(drawn, wide, strict=True) if not is_wide)
    assert wide.mean() == pytest.approx(0.25, abs=4 * np.sqrt(0.25 * 0.75 / 200))


def test_classes_are_called_by_other_names() -> None:
    mask = np.array([[[0, 1], [2, 3]], [[3, 3], [1, 0]]], np.int16)
    drawn = Relabelling((0, 3, 1, 2))(TrueMask(mask), generator())
    assert drawn.tolist() == [[[0, 3], [1, 2]], [[2, 2], [3, 0]]]
    assert drawn.dtype == np.int16


def test_what_cannot_be_is_refused() -> None:
    for classes in ((), (0, 2), (0, -1)):
        with pytest.raises(ValueError, match="classes must be a class for each of 0, 1, 2, …, got"):
            Relabelling(classes)
    with pytest.raises(ValueError, match="classes names 2, but the mask has class 2"):
        Relabelling((1, 0))(TrueMask(np.array([[0, 2]])), generator())
    for reader in (GreyDilation, GreyErosion):
        with pytest.raises(ValueError, match="radius must be a number of at least 0, got -1"):
            reader(-1)
