"""Run lengths as COCO's compressed text: signed numbers of five bits a character, from "0" on.

From the third run on a number is the difference to the run before the last, which is small where a shape is smooth.
"""

from __future__ import annotations

from collections.abc import Sequence

LOWEST = 48
MOST_CHARACTERS = 8
"""Of one number: five bits each hold more than any picture has pixels."""


def runs_from_text(text: str) -> list[int]:
    """The lengths in a compressed text.

    Raises:
        ValueError: if a character does not belong there, or a number has no end.

    Example:
        >>> runs_from_text("12110")
        [1, 2, 1, 3, 1]
    """
    runs: list[int] = []
    value = shift = 0
    for character in text:
        bits = ord(character) - LOWEST
        if not 0 <= bits < 64 or shift >= 5 * MOST_CHARACTERS:
            raise ValueError(f"its compressed runs are damaged at number {len(runs) + 1}")
        value |= (bits & 31) << shift
        shift += 5
        if bits & 32:
            continue
        if bits & 16:
            value -= 1 << shift
        runs.append(value + runs[-2] if len(runs) > 2 else value)
        value = shift = 0
    if shift:
        raise ValueError("its compressed runs end within a number")
    return runs


def text_from_runs(runs: Sequence[int]) -> str:
    """The compressed text of lengths, as COCO's own tools write it.

    Example:
        >>> text_from_runs([1, 2, 1, 3, 1])
        '12110'
    """
    characters = []
    for i, run in enumerate(runs):
        value = run - runs[i - 2] if i > 2 else run
        more = True
        while more:
            bits, value = value & 31, value >> 5
            # The last group says by its highest bit whether the number is negative.
            more = value != (-1 if bits & 16 else 0)
            characters.append(chr(LOWEST + (bits | (32 if more else 0))))
    return "".join(characters)
