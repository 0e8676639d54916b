from __future__ import annotations

from typing import Any

import pytest
import torch

from truelabel.corruption.asymmetric import CIFAR10_MAP, CIFAR100_MAP, MNIST_MAP, asymmetric

CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


def test_one_map_by_hand() -> None:
    expected = [[0.7, 0.3, 0.0], [0.0, 1.0, 0.0], [0.3, 0.0, 0.7]]
    torch.testing.assert_close(asymmetric(3, 0.3, {0: 1, 2: 0}), torch.tensor(expected, dtype=torch.double))


def test_digits_are_mistaken_as_published() -> None:
    confusion = asymmetric(10, 0.4, MNIST_MAP)
    moves = {(k, j): confusion[k, j].item() for k in range(10) for j in range(10) if k != j and confusion[k, j] > 0}
    assert moves == dict.fromkeys([(2, 7), (3, 8), (5, 6), (6, 5), (7, 1)], 0.4)
    torch.testing.assert_close(confusion.sum(-1), torch.ones(10, dtype=torch.double))


def test_objects_are_mistaken_as_published() -> None:
    named = {CIFAR10[true]: CIFAR10[observed] for true, observed in CIFAR10_MAP.items()}
    assert named == {
        "bird": "airplane",
        "cat": "dog",
        "dog": "cat",
        "deer": "horse",
        "truck": "automobile",
    }


def test_each_of_a_hundred_classes_becomes_the_next() -> None:
    torch.testing.assert_close(
        asymmetric(100, 0.2, CIFAR100_MAP),
        0.8 * torch.eye(100, dtype=torch.double) + 0.2 * torch.eye(100, dtype=torch.double).roll(1, -1),
    )


def test_the_ends_of_the_scale() -> None:
    assert torch.equal(asymmetric(10, 0.0, MNIST_MAP), torch.eye(10, dtype=torch.double))
    assert torch.equal(asymmetric(2, 1.0, {0: 1, 1: 0}), torch.eye(2, dtype=torch.double).flip(0))


def test_published_maps_cannot_be_changed() -> None:
    with pytest.raises(TypeError):
        MNIST_MAP[0] = 1  # type: ignore[index]


def test_bad_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="classes must be at least 2, got 1"):
        asymmetric(1, 0.1, {0: 1})
    for rate in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match=r"rate must lie in \[0, 1\]"):
            asymmetric(3, rate, {0: 1})


@pytest.mark.parametrize("mapping", [{3: 0}, {0: 3}, {-1: 0}, {0: -1}, {"cat": 1}])
def test_classes_that_do_not_exist_are_refused(mapping: dict[Any, int]) -> None:
    with pytest.raises(ValueError, match=r"mapping has .*, but classes are 0\.\.2"):
        asymmetric(3, 0.1, mapping)


def test_maps_that_change_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="mapping turns class 1 into itself"):
        asymmetric(3, 0.1, {0: 1, 1: 1})
    with pytest.raises(ValueError, match="mapping names no class"):
        asymmetric(3, 0.1, {})
