from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter
from scipy.spatial.distance import cdist
from skimage.metrics import hausdorff_distance

from truelabel.metrics import surface_distance


def surface(mask: NDArray[Any]) -> NDArray[Any]:
    """Voxels with a neighbour across a face that is not in the mask."""
    framed = np.pad(mask != 0, 1)
    inner = framed.copy()
    for axis in range(mask.ndim):
        inner &= np.roll(framed, 1, axis) & np.roll(framed, -1, axis)
    cut: NDArray[Any] = (framed & ~inner)[(slice(1, -1),) * mask.ndim]
    return cut


def blobs(space: tuple[int, ...], seed: int) -> NDArray[Any]:
    noise: NDArray[Any] = gaussian_filter(np.random.default_rng(seed).normal(size=space), 1.5) > 0.03
    return noise.astype(np.uint8)


@pytest.mark.parametrize(
    ("space", "spacing"),
    [((20, 24), None), ((20, 24), (0.7, 2.0)), ((9, 10, 11), None), ((9, 10, 11), (3.0, 1.0, 0.5)), ((40,), None)],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_that_of_all_pairs(space: tuple[int, ...], spacing: tuple[float, ...] | None, seed: int) -> None:
    a, b = blobs(space, seed), blobs(space, seed + 10)
    scale = np.ones(len(space)) if spacing is None else np.array(spacing)
    apart = cdist(np.argwhere(surface(a)) * scale, np.argwhere(surface(b)) * scale)
    there, back = apart.min(1), apart.min(0)
    found = surface_distance(a, b, spacing)
    assert found.average == pytest.approx(np.concatenate([there, back]).mean())
    assert found.hausdorff == pytest.approx(max(there.max(), back.max()))
    assert found.hausdorff95 == pytest.approx(max(np.percentile(there, 95), np.percentile(back, 95)))
    assert found.average < found.hausdorff95 <= found.hausdorff
    if spacing is None:
        assert found.hausdorff == pytest.approx(hausdorff_distance(surface(a), surface(b)))


def test_it_is_symmetric_and_zero_for_the_same() -> None:
    a, b = blobs((20, 20), 0), blobs((20, 20), 1)
    assert surface_distance(a, b) == surface_distance(b, a)
    assert surface_distance(a, a).hausdorff == 0


def test_a_shifted_square_is_as_far_as_it_was_moved() -> None:
    square, moved = np.zeros((2, 30, 30), bool)
    square[5:15, 5:15] = moved[5:15, 8:18] = True
    assert surface_distance(square, moved).hausdorff == 3
    assert surface_distance(square, moved, spacing=(1.0, 2.0)).hausdorff == 6


def test_a_hole_has_a_surface() -> None:
    full = np.ones((9, 9), int)
    holed = full.copy()
    holed[4, 4] = 0
    assert surface_distance(full, holed).hausdorff == 3, "from beside the hole to the border"


def test_empty_masks_are_at_no_distance_or_infinitely_far() -> None:
    empty, pixel = np.zeros((4, 4), int), np.eye(4, dtype=int)
    both, one = surface_distance(empty, empty), surface_distance(empty, pixel)
    assert (both.average, both.hausdorff, both.hausdorff95) == (0, 0, 0)
    assert (one.average, one.hausdorff, one.hausdorff95) == (np.inf,) * 3
    assert surface_distance(pixel, empty) == one


def test_tensors_are_taken() -> None:
    a, b = blobs((12, 12), 0), blobs((12, 12), 1)
    assert surface_distance(torch.from_numpy(a), torch.from_numpy(b) > 0) == surface_distance(a, b)


@pytest.mark.parametrize(
    ("predicted", "truth", "spacing", "message"),
    [
        ([[0, 1]], [[0, 1, 1]], None, r"predicted \(1, 2\) and truth \(1, 3\) differ in shape"),
        ([[0, 1]], [[-1, 1]], None, "truth must hold booleans or integers of at least 0: a surface needs every voxel"),
        ([[0.2, 0.8]], [[0, 1]], None, "predicted must hold booleans or integers"),
        ([[0, 1]], [[0, 1]], (1.0,), r"spacing must be 2 positive numbers, one an axis, got \(1.0,\)"),
        ([[0, 1]], [[0, 1]], (1.0, 0.0), "spacing must be 2 positive numbers"),
    ],
)
def test_what_cannot_be_is_refused(predicted: Any, truth: Any, spacing: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        surface_distance(predicted, truth, spacing)
