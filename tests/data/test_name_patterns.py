from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.data.name_patterns import NamePattern, Reading

BOTH = {"image", "reader"}
NAMES = st.text("ab_-", min_size=1, max_size=6)


@given(image=NAMES, reader=NAMES, between=st.sampled_from(["_", "__", "-"]), end=st.sampled_from(["", "_seg"]))
def test_a_name_that_was_made_can_be_read(image: str, reader: str, between: str, end: str) -> None:
    made = image + between + reader + end
    readings = NamePattern(f"{{image}}{between}{{reader}}{end}", BOTH).readings(made)
    assert Reading(image, reader) in readings
    assert all(f"{way.image}{between}{way.reader}{end}" == made for way in readings)
    lengths = [len(str(way.image)) for way in readings]
    assert lengths == sorted(lengths, reverse=True)


def test_one_part_and_the_other_order() -> None:
    assert NamePattern("{image}_seg", {"image"}).readings("a_b_seg") == [Reading("a_b", None)]
    assert NamePattern("mask-{reader}", {"reader"}).readings("mask-ann") == [Reading(None, "ann")]
    turned = NamePattern("{reader}-{image}", BOTH).readings("ann-a-1")
    assert turned == [Reading("1", "ann-a"), Reading("a-1", "ann")]


@pytest.mark.parametrize("name", ["", "seg", "_seg", "a_se", "a_seg2"])
def test_what_does_not_follow_has_no_reading(name: str) -> None:
    assert NamePattern("{image}_seg", {"image"}).readings(name) == []


@pytest.mark.parametrize(
    "text", ["{image}", "{reader}", "{image}_{image}_{reader}", "{image}_{reader}_{x}", "a", "{}_{image}"]
)
def test_wrong_patterns_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"name \{image\} and \{reader\} in it, once"):
        NamePattern(text, BOTH)
    with pytest.raises(ValueError, match="put text between"):
        NamePattern("{image}{reader}", BOTH)
    assert NamePattern("{image}_{reader}", {"reader"}, {"image"}).readings("a_b") == [Reading("a", "b")]
