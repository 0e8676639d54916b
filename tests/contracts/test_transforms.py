"""What every transform must satisfy."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from truelabel.transforms import Transform
from truelabel.types import Batch

Make = Callable[[], Transform]


def shapes(batch: Batch) -> list[torch.Size | None]:
    return [None if values is None else values.shape for values in batch]


def copied(batch: Batch) -> Batch:
    return Batch(*(None if values is None else values.clone() for values in batch))  # type: ignore[arg-type]


def assert_equal(first: Batch, second: Batch) -> None:
    for name, one, other in zip(Batch._fields, first, second, strict=True):
        if isinstance(one, Tensor) and isinstance(other, Tensor):
            assert torch.equal(one, other), name
        else:
            assert one is other, name


def test_shapes_are_the_same_at_every_step(make_transform: Make, batch: Batch) -> None:
    transform = make_transform()
    first, *others = (shapes(transform(batch)) for _ in range(5))
    assert all(other == first for other in others)
    assert len(first) == len(Batch._fields)


def test_the_parts_of_a_batch_fit_each_other(make_transform: Make, batch: Batch) -> None:
    given = make_transform()(batch)
    n, slots = given.annotators.shape
    assert len(given.inputs) == len(given.labels) == len(given.index) == n
    assert given.labels.shape == (n, *given.inputs.shape[2:][: batch.labels.dim() - 2], slots)
    assert given.weights.shape == (n, slots)
    assert given.soft is None or given.soft.shape[:-1] == given.labels.shape


def test_the_batch_given_is_left_alone(make_transform: Make, batch: Batch) -> None:
    before = copied(batch)
    make_transform()(batch)
    assert_equal(batch, before)


def test_equal_seeds_give_equal_batches(make_transform: Make, batch: Batch) -> None:
    results = []
    for _ in range(2):
        torch.manual_seed(3)
        results.append(make_transform()(batch))
    assert_equal(*results)


def test_no_label_comes_from_nowhere(make_transform: Make, batch: Batch) -> None:
    nothing = batch._replace(labels=torch.full_like(batch.labels, -1), annotators=torch.full_like(batch.annotators, -1))
    given = make_transform()(nothing)
    assert (given.labels == -1).all()
