"""Sizes and spacings on the command line."""

from __future__ import annotations

import pytest

from truelabel.cli.extents import parse_extent, parse_spacing


@pytest.mark.parametrize(
    ("text", "axes", "size"),
    [
        (None, 2, None),
        ("64", 2, (64, 64)),
        ("64", 3, (64, 64, 64)),
        ("48X64", 2, (48, 64)),
        ("8x16x16", 3, (8, 16, 16)),
    ],
)
def test_extents(text: str | None, axes: int, size: tuple[int, ...] | None) -> None:
    assert parse_extent("--crop", text, axes) == size


@pytest.mark.parametrize("text", ["", "x", "0", "-3", "3x", "3.5", "²"])
def test_what_is_no_extent(text: str) -> None:
    with pytest.raises(ValueError, match="--patch must be like 64, 48x64 or 32x64x64, got"):
        parse_extent("--patch", text, 2)


def test_an_extent_fits_the_axes() -> None:
    with pytest.raises(ValueError, match="--patch 8x8 has 2 numbers, but the pictures have 3 axes"):
        parse_extent("--patch", "8x8", 3)


def test_spacing() -> None:
    assert parse_spacing(None) is None
    assert parse_spacing("1,1, 2.5") == (1, 1, 2.5)
    with pytest.raises(ValueError, match="--spacing must be like 1,1,3, got '1x1'"):
        parse_spacing("1x1")
