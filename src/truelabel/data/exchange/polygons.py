"""Polygons to pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def fill_polygon(points: Sequence[tuple[float, float]], height: int, width: int) -> NDArray[np.bool_]:
    """The pixels ``(H, W)`` whose centres lie in a polygon.

    Args:
        points: x and y of each corner, in pixels from the left and upper *edge* of the picture, as annotation tools
            count: the first pixel reaches from 0 to 1, with its centre at 0.5.
        height: of the picture; what lies outside is cut off.
        width: of the picture.

    Example:
        >>> fill_polygon([(1, 0), (3, 0), (3, 1), (1, 1)], 2, 4).astype(int)
        array([[0, 1, 1, 0],
               [0, 0, 0, 0]])
    """
    from skimage import draw

    polygon: Any = draw.polygon
    if len(points) < 3:
        raise ValueError(f"its polygon has {len(points)} corners, not at least 3")
    x, y = np.array(points, np.float64).T - 0.5
    mask = np.zeros((height, width), bool)
    mask[polygon(y, x, (height, width))] = True
    return mask
