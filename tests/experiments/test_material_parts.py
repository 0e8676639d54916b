from __future__ import annotations

import numpy as np
import pytest

from truelabel.annotations import Annotations
from truelabel.data import Dataset
from truelabel.experiments.material_parts import Material, check_counts, first


def points(count: int, features: int = 2, classes: int = 2) -> Dataset:
    inputs = np.arange(count * features, dtype=np.float32).reshape(count, features)
    return Dataset(inputs, np.arange(count) % classes, tuple(range(classes)), "points")


def test_the_first_examples() -> None:
    data = points(5)
    assert first(data, None) is data
    assert first(data, 3).labels.tolist() == [0, 1, 0]
    assert len(first(data, 9)) == 5


def test_parts_that_do_not_fit_are_refused() -> None:
    said = Annotations.from_labels([0, 1, 1], classes=2)
    Material(points(3), points(2), said)
    with pytest.raises(ValueError, match=r"train and test of points do not fit: \(3, 2\) with 2 classes, \(2, 4\)"):
        Material(points(3), points(2, features=4))
    with pytest.raises(ValueError, match="do not fit"):
        Material(points(3), points(2, classes=3))
    with pytest.raises(ValueError, match="does not fit points: 4 examples, 2 classes"):
        Material(points(4), points(2), said)
    with pytest.raises(ValueError, match="does not fit points: 2 examples"):
        Material(points(3), points(2), None, said)
    with pytest.raises(ValueError, match="does not fit points: 3 examples, 3 classes"):
        Material(points(3, classes=3), points(2, classes=3), said)


def test_empty_parts_are_refused() -> None:
    with pytest.raises(ValueError, match="points has no examples to train on"):
        Material(points(0), points(2))
    with pytest.raises(ValueError, match="points has no examples to test on"):
        Material(points(2), points(0))


def test_numbers_of_examples() -> None:
    check_counts(None, 1)
    with pytest.raises(ValueError, match="train must be a whole number"):
        check_counts(0, None)
