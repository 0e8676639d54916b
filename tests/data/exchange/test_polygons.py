from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.data.exchange.polygons import fill_polygon

SIDES = st.tuples(*[st.integers(0, 8)] * 4)


@given(SIDES)
def test_whole_coordinates_are_edges_of_pixels(sides: tuple[int, int, int, int]) -> None:
    left, right, top, bottom = *sorted(sides[:2]), *sorted(sides[2:])
    corners: list[tuple[float, float]] = [(left, top), (right, top), (right, bottom), (left, bottom)]
    expected = np.zeros((8, 8), bool)
    expected[top:bottom, left:right] = True
    np.testing.assert_array_equal(fill_polygon(corners, 8, 8), expected)


@given(st.lists(st.tuples(st.floats(-5, 15), st.floats(-5, 15)), min_size=3, max_size=3))
def test_a_triangle_holds_the_centres_on_one_side_of_all_edges(corners: list[tuple[float, float]]) -> None:
    """The reference takes the sign of three cross products; centres within a hair of an edge may go either way."""
    (ax, ay), (bx, by), (cx, cy) = corners
    y, x = np.mgrid[:10, :12] + 0.5
    signs = np.stack(
        [
            (qx - px) * (y - py) - (qy - py) * (x - px)
            for (px, py), (qx, qy) in (((ax, ay), (bx, by)), ((bx, by), (cx, cy)), ((cx, cy), (ax, ay)))
        ]
    )
    inside = (signs > 1e-6).all(0) | (signs < -1e-6).all(0)
    outside = ((signs > 1e-6).any(0)) & ((signs < -1e-6).any(0))
    filled = fill_polygon(corners, 10, 12)
    assert filled[inside].all()
    assert not filled[outside].any()


def test_what_is_outside_is_cut_off_and_two_points_are_none() -> None:
    assert fill_polygon([(-1e8, -1e8), (1e8, -1e8), (1e8, 1e8), (-1e8, 1e8)], 3, 4).all()
    with pytest.raises(ValueError, match="has 2 corners, not at least 3"):
        fill_polygon([(0, 0), (1, 1)], 3, 4)
