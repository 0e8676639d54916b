"""How masks are read, from options."""

from __future__ import annotations

from typing import Any

import pytest

from truelabel.cli.mask_reading import MaskReading, parse_classes


@pytest.mark.parametrize(
    ("text", "classes"),
    [
        (None, None),
        ("", None),
        ("3", 3),
        ("0, 1,4", [0, 1, 4]),
        ("background, cell", ["background", "cell"]),
        ("0=background, 4=left lung", {0: "background", 4: "left lung"}),
    ],
)
def test_classes(text: str | None, classes: Any) -> None:
    assert parse_classes(text) == classes


@pytest.mark.parametrize("text", ["0=background,cell", "x=cell", "0=", "=cell,1=other"])
def test_what_names_no_classes(text: str) -> None:
    with pytest.raises(ValueError, match="--classes must be like 3, 0,1,4, background,cell or 0=background,4=cell"):
        parse_classes(text)


def test_options() -> None:
    reading = MaskReading.parse("suffixes", "flair,t1", "bob, ann", "{image}-{reader}", "2", "254,255")
    assert reading == MaskReading("suffixes", ("flair", "t1"), ("bob", "ann"), "{image}-{reader}", 2, (254, 255))
    assert MaskReading.parse(None, None, None, None, None, None) == MaskReading()
    with pytest.raises(ValueError, match="--void must be whole numbers, like 255 or 254,255, got 'white'"):
        MaskReading.parse(None, None, None, None, None, "white")


def test_pictures_may_be_missing_unless_wanted_or_named() -> None:
    for wanted in (True, False):
        roles = MaskReading().roles(with_pictures=wanted)
        assert (roles.images, roles.optional) == (("image",), not wanted)
    for wanted in (True, False):
        roles = MaskReading(images=("scan",), readers=("ann",)).roles(with_pictures=wanted)
        assert (roles.images, roles.readers) == (("scan",), ("ann",))
