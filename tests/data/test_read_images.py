from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.data import Geometry, ReadImages

MASKS = np.arange(3 * 2 * 4 * 6).reshape(3, 2, 4, 6) % 2


def read(**changes: Any) -> ReadImages:
    parts: dict[str, Any] = {
        "images": np.arange(3 * 4 * 6, dtype=np.uint8).reshape(3, 1, 4, 6),
        "annotations": Annotations.from_masks(MASKS, annotators=["ann", "bob"], examples=["x", "y", "z"]),
        "geometry": tuple(Geometry((4, 6), (1, step)) for step in (1, 2, 3)),
    }
    return ReadImages(**(parts | changes))


def test_names_come_from_the_annotations() -> None:
    data = read()
    assert len(data) == 3
    assert data.names.tolist() == ["x", "y", "z"]
    assert data.readers.tolist() == ["ann", "bob"]
    assert data.classes == (0, 1)
    assert repr(data) == "ReadImages(3 images of 4 x 6, 6 masks by 2 readers, 2 classes: 0, 1)"


def test_take_keeps_everything_together() -> None:
    data = read()
    cases: list[tuple[Any, list[int]]] = [([2, 0], [2, 0]), (np.array([True, False, True]), [0, 2])]
    for index, rows in cases:
        some = data.take(index)
        assert some.names.tolist() == [data.names[row] for row in rows]
        assert some.images is not None
        assert data.images is not None
        np.testing.assert_array_equal(some.images, data.images[rows])
        np.testing.assert_array_equal(some.annotations.matrix(), MASKS[rows])
        assert [grid.spacing[1] for grid in some.geometry] == [row + 1 for row in rows]
    assert len(data.take([])) == 0


def test_scaled_divides_bytes_only() -> None:
    data = read()
    assert data.images is not None
    np.testing.assert_allclose(data.scaled(), data.images / 255, rtol=1e-6)
    single = data.images.astype(np.float32) - 9
    np.testing.assert_array_equal(read(images=single).scaled(), single)
    with pytest.raises(ValueError, match="images were not read"):
        read(images=None).scaled()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"images": np.zeros((3, 1, 4, 6))}, "images are float64"),
        ({"images": np.zeros((2, 1, 4, 6), np.uint8)}, "with N = 3"),
        ({"images": np.zeros((3, 1, 4, 5), np.uint8)}, r"space = \(4, 6\)"),
        ({"images": np.zeros((3, 4, 6), np.uint8)}, r"images are \(3, 4, 6\)"),
        ({"geometry": (Geometry((4, 6)),) * 2}, "geometry does not fit 3 masks"),
        ({"geometry": (Geometry((4, 5)),) * 3}, r"of shape \(4, 6\)"),
    ],
)
def test_refuses_parts_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read(**changes)
