from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truelabel.data.mask_classes import distinct, named_values, void_values, white_is_one


@pytest.mark.parametrize(
    ("classes", "named"),
    [
        (None, None),
        (3, {0: 0, 1: 1, 2: 2}),
        ([0, 2, 4], {0: 0, 2: 2, 4: 4}),
        (np.array([4, 0]), {4: 4, 0: 0}),
        (("bg", "fg"), {0: "bg", 1: "fg"}),
        ({0: "bg", 4: "core"}, {0: "bg", 4: "core"}),
    ],
)
def test_four_ways_to_say_it(classes: Any, named: Any) -> None:
    found = named_values(classes)
    assert found == named
    assert found is None or list(found) == list(named)


@pytest.mark.parametrize("wrong", [0, [], ["a", "a"], [1, 1], {0: "a", 1: "a"}, [-1, 0]])
def test_wrong_classes_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError, match="classes"):
        named_values(wrong)
    with pytest.raises(TypeError, match="pass a list of names"):
        named_values("background")


def test_void() -> None:
    assert void_values(None) == set()
    assert void_values(255) == {255}
    assert void_values([254, 255]) == {254, 255}


@pytest.mark.parametrize(
    ("found", "known", "void", "expected"),
    [
        ([0, 255], None, (), True),
        ([255], None, (), True),
        ([-1, 0, 255], None, (), True),
        ([0, 255], (0, 1), (), True),
        ([0], None, (), False),
        ([0, 1], None, (), False),
        ([0, 1, 255], None, (), False),
        ([0, 255], (0, 255), (), False),
        ([0, 255], (0, 1, 2), (), False),
        ([0, 255], None, (255,), False),
    ],
)
def test_white_is_one_only_where_nothing_else_is_possible(found: Any, known: Any, void: Any, expected: bool) -> None:
    assert white_is_one(found, known, void) is expected


@given(hnp.arrays(np.int32, hnp.array_shapes(max_dims=3), elements=st.integers(-1, 1 << 17)))
def test_distinct_is_unique(values: Any) -> None:
    assert distinct(values) == np.unique(values).tolist()
