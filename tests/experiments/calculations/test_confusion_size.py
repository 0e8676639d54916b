from __future__ import annotations

import itertools

import pytest

from truelabel.experiments.calculations.confusion_size import confusion_size


def operations(rows: int, columns: int) -> int:
    """A matrix times a vector: so many products, and one sum less than that in each row."""
    return sum(columns + (columns - 1) for _ in range(rows))


@pytest.mark.parametrize(("classes", "rank"), [*itertools.product((2, 4, 10), (None, 1, 2))])
def test_variables_and_operations_are_those_of_the_products(classes: int, rank: int | None) -> None:
    found = confusion_size(0, width=5, height=3, classes=classes, rank=rank)
    if rank is None:
        cells, each = classes * classes, operations(classes, classes)
    else:
        cells, each = 2 * classes * rank, operations(rank, classes) + operations(classes, rank)
    assert found == {"variables": 15 * cells, "operations": 15 * each}
