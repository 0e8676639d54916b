"""How masks are read, from the options of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from truelabel.cli.sources import parse_list

if TYPE_CHECKING:
    from truelabel.data.mask_classes import Classes
    from truelabel.data.mask_layouts import Roles

CLASSES_HELP = "All classes in order, separated by commas; for masks also how many, or 0=background,4=cell."
LAYOUT_HELP = "Of a folder: reader-folders, case-folders or suffixes; by default told by where the pictures are."
PATTERN_HELP = "How mask files in a folder are called, like '{image}_{reader}_seg'."
READERS_HELP = "Those wanted, in this order, separated by commas; all by default."
VOID_HELP = "Values in masks that mean 'no label', like 255 or 254,255."


@dataclass(frozen=True)
class MaskReading:
    """Where masks lie and what their numbers mean; as in :func:`truelabel.data.mask_folder`.

    Attributes:
        layout: of a folder; found out if None.
        images: how pictures are called; ``image`` if None.
        readers: those wanted, in this order; all if None.
        pattern: how the files of masks are called.
        classes: how many, which numbers, or their names; those found if None.
        void: numbers that mean "no label".
    """

    layout: Any = None
    images: tuple[str, ...] | None = None
    readers: tuple[str, ...] | None = None
    pattern: str | None = None
    classes: Classes | None = None
    void: tuple[int, ...] = ()

    @classmethod
    def parse(
        cls,
        layout: str | None,
        images: str | None,
        readers: str | None,
        pattern: str | None,
        classes: str | None,
        void: str | None,
    ) -> MaskReading:
        """From the options of the command line."""
        return cls(layout, _names(images), _names(readers), pattern, parse_classes(classes), _numbers(void))

    def roles(self, *, with_pictures: bool) -> Roles:
        """Who is a picture and who a reader; there may be no pictures unless they are wanted, or named."""
        from truelabel.data.mask_layouts import Roles

        return Roles(self.images or ("image",), self.readers, optional=not with_pictures and self.images is None)


def parse_classes(text: str | None) -> Classes | None:
    """``3`` classes, the numbers ``0,1,4``, names of 0, 1, … like ``background,cell``, or ``0=background,4=cell``."""
    words = parse_list(text)
    if not words:
        return None
    if all(word.isdecimal() for word in words):
        return int(words[0]) if len(words) == 1 else [int(word) for word in words]
    if not any("=" in word for word in words):
        return words
    pairs = [word.partition("=") for word in words]
    if not all(number.strip().isdecimal() and name.strip() for number, _, name in pairs):
        raise ValueError(f"--classes must be like 3, 0,1,4, background,cell or 0=background,4=cell, got {text!r}")
    return {int(number): name.strip() for number, _, name in pairs}


def _names(text: str | None) -> tuple[str, ...] | None:
    return tuple(parse_list(text) or ()) or None


def _numbers(text: str | None) -> tuple[int, ...]:
    words = parse_list(text) or []
    if not all(word.isdecimal() for word in words):
        raise ValueError(f"--void must be whole numbers, like 255 or 254,255, got {text!r}")
    return tuple(int(word) for word in words)
