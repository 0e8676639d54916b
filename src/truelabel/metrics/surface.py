"""How far the surfaces of two masks lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from truelabel.metrics.masks import as_array


@dataclass(frozen=True)
class SurfaceDistance:
    """Distances between two surfaces, in units of the spacing. All are 0 for equal ones.

    Attributes:
        average: average symmetric surface distance: the mean over the voxels of both surfaces of how far the other is.
        hausdorff: the largest of them.
        hausdorff95: the 95th percentile of those of each surface, the larger of the two.

    Example:
        >>> surface_distance([[0, 1, 0]], [[0, 1, 0]])
        SurfaceDistance(average=0.0, hausdorff=0.0, hausdorff95=0.0)
    """

    average: float
    hausdorff: float
    hausdorff95: float


def surface_distance(predicted: Any, truth: Any, spacing: Sequence[float] | None = None) -> SurfaceDistance:
    r"""Average symmetric surface distance and Hausdorff distance of two masks.

    .. math::
        d(a, B) = \min_{b \in B} |a - b|, \quad
        \mathrm{average} = \frac{\sum_{a \in A} d(a, B) + \sum_{b \in B} d(b, A)}{|A| + |B|}, \quad
        \mathrm{hausdorff} = \max(\max_{a \in A} d(a, B), \max_{b \in B} d(b, A))

    A and B are the surfaces: the voxels of a mask with a neighbour across a face that is not in it; beyond the image
    nothing is. If both masks are empty all distances are 0, if one of them is, infinite.

    Args:
        predicted: ``(*space)``, of any dimension; what is not 0 belongs to the mask. For one of several classes pass
            ``mask == k``.
        truth: likewise, of the same shape.
        spacing: distance of neighbours along each axis, such as millimetres; 1 by default.

    Example:
        >>> surface_distance([[0, 1, 0, 0]], [[0, 0, 0, 1]], spacing=(1.0, 0.5))
        SurfaceDistance(average=1.0, hausdorff=1.0, hausdorff95=1.0)
    """
    masks = [as_array(mask) for mask in (predicted, truth)]
    for name, mask in zip(("predicted", "truth"), masks, strict=True):
        if mask.dtype.kind not in "iub" or (mask.size and mask.min() < 0):
            raise ValueError(f"{name} must hold booleans or integers of at least 0: a surface needs every voxel")
    shape = masks[0].shape
    if not shape or masks[1].shape != shape:
        raise ValueError(f"predicted {shape} and truth {masks[1].shape} differ in shape")
    steps = (1.0,) * len(shape) if spacing is None else tuple(float(step) for step in spacing)
    if len(steps) != len(shape) or not all(0 < step < np.inf for step in steps):
        raise ValueError(f"spacing must be {len(shape)} positive numbers, one an axis, got {spacing}")
    empty = [not mask.any() for mask in masks]
    if any(empty):
        apart = 0.0 if all(empty) else float("inf")
        return SurfaceDistance(apart, apart, apart)
    there, back = _both_ways(masks[0] != 0, masks[1] != 0, steps)
    return SurfaceDistance(
        average=float((there.sum() + back.sum()) / (len(there) + len(back))),
        hausdorff=float(max(there.max(), back.max())),
        hausdorff95=float(max(np.percentile(there, 95), np.percentile(back, 95))),
    )


def _both_ways(
    a: NDArray[np.bool_], b: NDArray[np.bool_], spacing: tuple[float, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far the other surface is from each voxel of this one, both ways."""
    from scipy.ndimage import binary_erosion, distance_transform_edt

    # Nothing outside this box is nearer than what is inside.
    box = tuple(slice(axis.min(), axis.max() + 1) for axis in np.nonzero(a | b))
    one, other = (mask[box] & ~binary_erosion(mask[box]) for mask in (a, b))
    return (
        distance_transform_edt(~other, sampling=spacing)[one],
        distance_transform_edt(~one, sampling=spacing)[other],
    )
