"""From the files that a user names to the masks of several readers, image by image."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from truelabel.cli.sources import ARRAYS

if TYPE_CHECKING:
    from truelabel import Annotations
    from truelabel.cli.mask_reading import MaskReading
    from truelabel.data import Geometry

TABLES = (".csv", ".parquet")


class MaskImage(NamedTuple):
    """One image: its name, its masks with all readers and classes, its grid, and the ending that a mask gets."""

    name: str
    masks: Annotations
    geometry: Geometry
    ending: str


@dataclass(frozen=True)
class MaskSource:
    """Masks of N images by R readers, one image in memory at a time, so that each may have its own size.

    Attributes:
        images: reads them, in the order of their names.
        count: N.
        masks: how many there are in all.
        readers: ``(R,)`` names.
        classes: ``(K,)`` names.
        values: ``(K,)``, the number in masks of each class.
        left_out: images and readers without any label.
        digest: of all that was drawn.
    """

    images: Callable[[], Iterator[MaskImage]]
    count: int
    masks: int
    readers: tuple[str, ...]
    classes: tuple[str | int, ...]
    values: tuple[int, ...]
    left_out: dict[str, int]
    digest: str

    def __str__(self) -> str:
        names = ", ".join(map(str, self.classes[:6])) + (", …" if len(self.classes) > 6 else "")
        counts = {"mask": self.masks, "image": self.count, "reader": len(self.readers), "class": len(self.classes)}
        mask, image, reader, kind = (
            f"{n} {what if n == 1 else what + ('es' if what == 'class' else 's')}" for what, n in counts.items()
        )
        return f"{mask} of {image} by {reader}, {kind}: {names}"


def are_masks(paths: Sequence[Path]) -> bool:
    """Whether these are masks, not a table or matrix of labels; a mixture is an error of one line.

    A folder holds masks, and so do several files, pictures, volumes, and arrays of three axes or more.
    """
    from truelabel.data import load_array
    from truelabel.data.rasters import ENDINGS, ending

    if len(paths) == 1:
        (path,) = paths
        if path.is_file() and path.suffix.lower() in ARRAYS:
            return load_array(path).ndim > 2
        return path.is_dir() or ending(path) in ENDINGS - set(ARRAYS)
    for path in paths:
        if path.is_dir():
            raise ValueError(f"{path} is a folder beside other files: name one folder, or the mask files themselves")
        if path.suffix.lower() in TABLES:
            raise ValueError(f"{path} is a table beside other files: fuse one table, or mask files only")
        if ending(path) not in ENDINGS:
            raise ValueError(f"{path} is no mask that can be read: pass {', '.join(sorted(ENDINGS))}")
    return True


def find_masks(paths: Sequence[Path], reading: MaskReading) -> MaskSource:
    """Look at all masks once: whether they fit together, which classes they hold, and their digest."""
    from truelabel.cli.mask_arrays import masks_of_array
    from truelabel.cli.mask_cases import masks_of_files, masks_of_folder

    first = paths[0]
    if first.is_dir():
        return masks_of_folder(first, reading)
    given = {"--layout": reading.layout, "--images": reading.images, "--pattern": reading.pattern}
    wrong = next((option for option, value in given.items() if value is not None), None)
    if wrong is not None:
        raise ValueError(f"{wrong} is for a folder of masks, but {first} is a file: leave it out")
    if len(paths) > 1:
        return masks_of_files(paths, reading)
    if first.suffix.lower() in ARRAYS:
        return masks_of_array(first, reading)
    raise ValueError(f"{first} is the mask of one reader: name those of several, or a folder")
