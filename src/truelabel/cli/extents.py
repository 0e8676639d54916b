"""Sizes and spacings, from the options of the command line."""

from __future__ import annotations


def parse_extent(option: str, text: str | None, axes: int) -> tuple[int, ...] | None:
    """``64`` for all axes, ``48x64``, or ``32x64x64``.

    Args:
        option: for messages.
        text: what was given.
        axes: of the pictures.
    """
    if text is None:
        return None
    parts = text.lower().split("x")
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise ValueError(f"{option} must be like 64, 48x64 or 32x64x64, got {text!r}")
    if len(parts) not in (1, axes):
        raise ValueError(f"{option} {text} has {len(parts)} numbers, but the pictures have {axes} axes")
    return tuple(int(part) for part in (parts if len(parts) == axes else parts * axes))


def parse_spacing(text: str | None) -> tuple[float, ...] | None:
    """``1,1,3``."""
    try:
        return None if text is None else tuple(float(part) for part in text.split(","))
    except ValueError:
        raise ValueError(f"--spacing must be like 1,1,3, got {text!r}") from None
