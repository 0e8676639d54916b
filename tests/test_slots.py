from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from truelabel.slots import SlotTable


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), max_size=4), min_size=1, max_size=8),
    st.data(),
)
def test_each_example_gets_its_own_labels(given_by_example: list[list[tuple[int, int]]], data: st.DataObject) -> None:
    rows = [(i, a, y) for i, pairs in enumerate(given_by_example) for a, y in pairs]
    example, annotator, label = np.array(rows, np.int32).reshape(-1, 3).T
    table = SlotTable(example, annotator, label.astype(np.int16), len(given_by_example))
    index = data.draw(st.lists(st.integers(0, len(given_by_example) - 1), max_size=10))
    slots = table.at(torch.tensor(index, dtype=torch.long))

    width = max(1, *map(len, given_by_example))
    empty = (-1, -1)
    expected = [given_by_example[i] + [empty] * (width - len(given_by_example[i])) for i in index]
    assert slots.labels.shape == slots.annotators.shape == slots.position.shape == (len(index), width)
    assert slots.labels.tolist() == [[y for _, y in pairs] for pairs in expected]
    assert slots.annotators.tolist() == [[a for a, _ in pairs] for pairs in expected]
    starts = [sum(map(len, given_by_example[:i])) for i in index]
    assert slots.position.tolist() == [
        [start + s if s < len(given_by_example[i]) else len(rows) for s in range(width)]
        for i, start in zip(index, starts, strict=True)
    ]


@pytest.mark.parametrize("dtype", [np.int16, np.int32, np.int64])
def test_codes_of_every_type_come_as_long(dtype: type[np.signedinteger]) -> None:
    codes = np.array([0, 1], dtype)
    slots = SlotTable(codes, codes, codes, examples=2).at(torch.tensor([1]))
    assert slots.labels.dtype == slots.annotators.dtype == slots.position.dtype == torch.long
    assert slots.labels.tolist() == [[1]]


def test_masks_keep_their_space_before_the_slots() -> None:
    masks = np.random.default_rng(0).integers(-1, 3, (3, 4, 5)).astype(np.int16)
    table = SlotTable(np.array([0, 2, 2]), np.array([1, 0, 1]), masks, examples=3)
    slots = table.at(torch.tensor([2, 0, 1]))
    assert slots.labels.shape == (3, 4, 5, 2)
    assert slots.annotators.tolist() == [[0, 1], [1, -1], [-1, -1]]
    for place, slot, mask in ((0, 0, masks[1]), (0, 1, masks[2]), (1, 0, masks[0])):
        assert slots.labels[place, ..., slot].tolist() == mask.tolist()
    assert (slots.labels[1, ..., 1] == -1).all()
    assert (slots.labels[2] == -1).all()


def test_a_table_without_labels_has_one_empty_slot() -> None:
    nothing = np.empty(0, np.int32)
    slots = SlotTable(nothing, nothing, nothing, examples=2).at(torch.tensor([0, 1]))
    assert slots.labels.tolist() == slots.annotators.tolist() == [[-1], [-1]]
    assert slots.position.tolist() == [[0], [0]]


def test_position_finds_the_weight_of_each_label() -> None:
    table = SlotTable(np.array([0, 1, 1]), np.array([0, 0, 1]), np.array([1, 0, 1]), examples=2)
    weights = torch.tensor([0.5, 2.0, 3.0, 0.0])  # the last for empty slots
    assert weights[table.at(torch.tensor([1, 0])).position].tolist() == [[2, 3], [0.5, 0]]
