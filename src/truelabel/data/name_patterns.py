"""How the files of masks are called: text with ``{image}`` and ``{reader}`` where their names stand."""

from __future__ import annotations

import re
from typing import NamedTuple


class Reading(NamedTuple):
    """One way to read a name; None where the pattern does not tell."""

    image: str | None
    reader: str | None


class NamePattern:
    """A pattern such as ``"{image}_{reader}"``.

    Args:
        text: the pattern.
        needed: what must stand in it.
        allowed: what else may.

    Raises:
        ValueError: if something needed is missing, something else or twice there, or its parts touch.

    Example:
        >>> NamePattern("{image}_{reader}", {"image", "reader"}).readings("scan_01_ann")
        [Reading(image='scan_01', reader='ann'), Reading(image='scan', reader='01_ann')]
    """

    def __init__(self, text: str, needed: set[str], allowed: set[str] | None = None) -> None:
        pieces = re.split(r"\{(\w*)\}", text)
        self._texts, self._names = pieces[::2], pieces[1::2]
        names = set(self._names)
        if not needed <= names <= needed | (allowed or set()) or len(names) != len(self._names):
            wanted = " and ".join(f"{{{name}}}" for name in sorted(needed))
            raise ValueError(f"pattern {text!r} does not fit: name {wanted} in it, once")
        if "" in self._texts[1:-1]:
            raise ValueError(f"pattern {text!r} cannot be told apart: put text between its parts")

    def readings(self, name: str) -> list[Reading]:
        """All ways to read a name, the one with the longest first part first; none if it does not follow."""
        before, *between, after = self._texts
        inner = name[len(before) : len(name) - len(after)]
        if before + inner + after != name or not inner:
            return []
        ways = _halves(inner, between[0]) if between else [(inner,)]
        named = [dict(zip(self._names, way, strict=True)) for way in ways if all(way)]
        return [Reading(way.get("image"), way.get("reader")) for way in named]


def _halves(name: str, between: str) -> list[tuple[str, ...]]:
    cuts = [found.start() for found in re.finditer(f"(?={re.escape(between)})", name)]
    return [(name[:cut], name[cut + len(between) :]) for cut in reversed(cuts)]
