"""Masks as annotation tools keep them: shapes that readers drew on pictures, turned into pixels one mask at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truelabel.data.exchange.entries import ExchangeError, as_whole

if TYPE_CHECKING:
    from truelabel.annotations import Annotations

MOST_PIXELS = 89_478_485
"""Pictures above this are refused, as Pillow refuses them; raise it for files that you trust."""

BACKGROUND = "background"
MOST_CLASSES = 1 << 15
"""That fit the 16 bits of a pixel in a mask, with -1."""


class Region(NamedTuple):
    """One shape: its class, what gives its pixels ``(H, W)`` for a size, and where it stands, for messages."""

    label: str
    pixels: Callable[[int, int], NDArray[np.bool_]]
    where: str


class Sheet(NamedTuple):
    """What one reader drew on one picture of ``size (H, W)``, in the order of drawing; nothing is an answer too."""

    image: str
    reader: str
    size: tuple[int, int]
    regions: tuple[Region, ...]


class DrawnMask(NamedTuple):
    """A mask ``(H, W)`` of class positions, the picture that it is of, and who drew it."""

    image: str
    reader: str
    mask: NDArray[np.signedinteger[Any]]


@dataclass(frozen=True)
class Drawn:
    """Masks of pictures by readers, which come from a file of another tool; pictures may differ in size.

    Shapes become pixels only when one iterates, so that a data set need not lie in memory. Where shapes overlap, the
    later one covers the earlier.

    Attributes:
        sheets: what was drawn, one for each picture and reader.
        classes: the K names; the first is what no shape covers.

    Example:
        >>> sheet = Sheet("a.png", "ann", (2, 2), (Region("cell", lambda h, w: np.eye(2, dtype=bool), "shape 1"),))
        >>> [drawn.mask.tolist() for drawn in Drawn((sheet,), ("background", "cell"))]
        [[[1, 0], [0, 1]]]
    """

    sheets: tuple[Sheet, ...]
    classes: tuple[str, ...]

    @property
    def images(self) -> list[str]:
        """Names of the pictures, sorted."""
        return sorted({sheet.image for sheet in self.sheets})

    @property
    def readers(self) -> list[str]:
        """Names of the readers, sorted."""
        return sorted({sheet.reader for sheet in self.sheets})

    def __len__(self) -> int:
        return len(self.sheets)

    def __iter__(self) -> Iterator[DrawnMask]:
        codes = {name: code for code, name in enumerate(self.classes)}
        for image, reader, (height, width), regions in self.sheets:
            mask = np.zeros((height, width), np.int16)
            for region in regions:
                try:
                    mask[region.pixels(height, width)] = codes[region.label]
                except ValueError as error:
                    raise ExchangeError(f"{region.where} is damaged ({error}): draw or export it again") from error
            yield DrawnMask(image, reader, mask)

    def annotations(self) -> Annotations:
        """All masks as one table, for pictures of one size.

        Raises:
            ExchangeError: if they have several.
        """
        from truelabel.annotations import Annotations
        from truelabel.types import MISSING

        sizes = {sheet.size for sheet in self.sheets}
        if len(sizes) != 1:
            shown = " and ".join(f"{height} x {width}" for height, width in sorted(sizes)[:2])
            raise ExchangeError(f"pictures have several sizes, such as {shown}: write them to a folder, and read it")
        images, readers = self.images, self.readers
        masks = np.full((len(images), len(readers), *sizes.pop()), MISSING, np.int16)
        for image, reader, mask in self:
            masks[images.index(image), readers.index(reader)] = mask
        return Annotations.from_masks(masks, classes=list(self.classes), annotators=readers, examples=images)


def gather(sheets: Iterable[Sheet], classes: Sequence[str] = (), *, source: str) -> Drawn:
    """Sheets with their classes, or an error if there are none, or a reader has two of one picture.

    Args:
        sheets: as they come.
        classes: in the order of the tool; those found follow, sorted. One that is called "background" leads.
        source: the file, for messages.
    """
    kept = tuple(sheets)
    if not kept:
        raise ExchangeError(f"{source} holds no masks: is it an export of shapes, and of the right project?")
    seen: set[tuple[str, str]] = set()
    for sheet in kept:
        if (sheet.image, sheet.reader) in seen:
            raise ExchangeError(
                f"{source} has picture {sheet.image!r} by {sheet.reader!r} twice: rename one, or remove the entry"
            )
        seen.add((sheet.image, sheet.reader))
    found = sorted({region.label for sheet in kept for region in sheet.regions} - set(classes))
    names = dict.fromkeys([*classes, *found])
    ground = next((name for name in names if name.strip().lower() == BACKGROUND), BACKGROUND)
    names.pop(ground, None)
    if len(names) >= MOST_CLASSES:
        raise ExchangeError(f"{source} has {len(names)} classes, more than a mask can hold: merge some")
    return Drawn(kept, (ground, *names))


def picture_size(height: Any, width: Any, where: str) -> tuple[int, int]:
    """Height and width of a picture, unless they are absurd."""
    h, w = as_whole(height, f"the height of {where}", 1), as_whole(width, f"the width of {where}", 1)
    if h * w > MOST_PIXELS:
        raise ExchangeError(
            f"{where} is absurdly large ({h} x {w}): shrink it, or raise "
            "truelabel.data.exchange.drawn.MOST_PIXELS if you trust it"
        )
    return h, w
