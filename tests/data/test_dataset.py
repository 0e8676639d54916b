from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truelabel.data import Dataset
from truelabel.data.dataset import check_split


def dataset(**changes: Any) -> Dataset:
    parts: dict[str, Any] = {
        "inputs": np.zeros((3, 2), np.float32),
        "labels": np.array([0, 1, 1]),
        "classes": ("a", "b"),
        "name": "toy",
    }
    return Dataset(**(parts | changes))


MASKS = {"inputs": np.zeros((3, 1, 4, 6), np.uint8), "labels": np.zeros((3, 4, 6), np.int16)}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"inputs": np.zeros((3, 2))}, "inputs of toy are float64"),
        ({"inputs": np.zeros((3, 2, 2), np.float32)}, r"shape \(3, 2, 2\)"),
        ({"labels": np.array([0, 1, 1], np.int32)}, "labels of toy are int32"),
        ({"labels": np.array([[0], [1], [1]])}, r"shape \(3, 1\)"),
        ({"labels": np.array([0, 1])}, "3 inputs but 2 labels"),
        ({"labels": np.array([0, 2, 1])}, r"label 2 in row 2 of toy is outside 0..1"),
        ({"labels": np.array([0, 1, -1])}, "label -1 in row 3"),
        ({"classes": ("a", "a")}, "repeat a name"),
        (MASKS | {"labels": np.zeros((3, 4, 5), np.int16)}, r"labels of toy are int16 of shape \(3, 4, 5\)"),
        (MASKS | {"labels": np.zeros((3, 4, 6), np.int64)}, "labels of toy are int64"),
        (MASKS | {"labels": np.full((3, 4, 6), 2, np.int16)}, "label 2 in row 1 of toy is outside 0..1"),
        (MASKS | {"labels": np.full((3, 4, 6), -2, np.int16)}, "label -2 in row 1"),
    ],
)
def test_refuses_parts_that_do_not_fit(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dataset(**changes)


def test_is_frozen() -> None:
    with pytest.raises(AttributeError):
        dataset().name = "other"  # type: ignore[misc]


def test_scaled_divides_pictures_by_255() -> None:
    pixels = np.arange(256, dtype=np.uint8).reshape(1, 1, 16, 16)
    data = dataset(inputs=pixels, labels=np.array([0]))
    assert data.scaled().dtype == np.float32
    np.testing.assert_allclose(data.scaled().ravel(), np.linspace(0, 1, 256), rtol=1e-6)
    assert data.inputs.dtype == np.uint8


def test_scaled_leaves_features_alone() -> None:
    inputs = np.array([[-3.0, 700.0]] * 3, np.float32)
    np.testing.assert_array_equal(dataset(inputs=inputs).scaled(), inputs)


def test_take_accepts_positions_slices_and_masks() -> None:
    data = dataset(inputs=np.arange(6, dtype=np.float32).reshape(3, 2))
    assert data.take([2, 0]).inputs.tolist() == [[4, 5], [0, 1]]
    assert data.take(slice(1, None)).labels.tolist() == [1, 1]
    assert data.take(data.labels == 0).inputs.tolist() == [[0, 1]]
    assert len(data.take([])) == 0


def test_pixels_may_have_classes_or_none() -> None:
    labels = np.array([0, 1, -1] * 24, np.int16).reshape(3, 4, 6)
    data = dataset(**(MASKS | {"labels": labels}))
    assert len(data) == 3
    np.testing.assert_array_equal(data.take([2]).labels, labels[2:])
    assert len(dataset(inputs=np.zeros((2, 1, 4, 6, 5), np.float32), labels=np.zeros((2, 4, 6, 5), np.int16))) == 2


def test_check_split_names_the_choices() -> None:
    with pytest.raises(ValueError, match="split 'val' is unknown: pass 'train' or 'test'"):
        check_split("val")
