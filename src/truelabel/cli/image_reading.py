"""How pictures are read and prepared for a segmenter; a run keeps it, so that new pictures are read alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truelabel.cli.sources import RECORD

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from truelabel.data import Geometry
    from truelabel.data.preparation import Preparation

LISTS = ("images", "size", "crop", "spacing", "values")


@dataclass(frozen=True)
class ImageReading:
    """How pictures are read.

    Attributes:
        images: how pictures are called; several are channels, in this order.
        grey: bring pictures of 8 bits to one channel.
        normalise: give each channel of each picture mean 0 and variance 1, over "all" pixels or the "nonzero"; None for
            pictures of 8 bits, taken as 0 to 1.
        spacing: resample to this; as it is if None.
        size: then bring to this many pixels; as it is if None.
        crop: what was cut out for training; new pictures are answered as a whole.
        pattern: how masks are called, so that none is taken for a picture.
        values: the number in masks of each class; their positions if None.
    """

    images: tuple[str, ...] = ("image",)
    grey: bool = False
    normalise: Any = None
    spacing: tuple[float, ...] | None = None
    size: tuple[int, ...] | None = None
    crop: tuple[int, ...] | None = None
    pattern: str | None = None
    values: tuple[int, ...] | None = None

    @property
    def preparation(self) -> Preparation:
        """What is done to pictures, but for the crop."""
        from truelabel.data.preparation import Preparation

        return Preparation(self.normalise, self.spacing, self.size)

    def picture(self, files: Sequence[Path], channels: int, axes: int) -> tuple[NDArray[Any], Geometry]:
        """One picture as a network wants it, ``(C, *space)``, and the grid of its file.

        Args:
            files: one for each of ``images``.
            channels: C; pictures of 8 bits are brought to grey or colour if it is 1 or 3.
            axes: of space.
        """
        import numpy as np

        from truelabel.data import read_picture

        modes: dict[int, Any] = {1: "L", 3: "RGB"}
        mode = modes.get(channels) if len(files) == 1 else "L" if self.grey else None
        read = [read_picture(file, mode=mode, axes=axes) for file in files]  # type: ignore[arg-type]  # 2 or 3
        geometry = read[0][1]
        for file, (_, other) in zip(files, read, strict=True):
            geometry.require_same(other, files[0], file)
        values = np.concatenate([values for values, _ in read])
        if len(values) != channels or len(geometry.shape) != axes:
            found = f"{len(values)} channels in {len(geometry.shape)} dimensions"
            raise ValueError(f"{files[0]} has {found}, but the run learned from {channels} in {axes}: leave it out")
        return self.preparation.image(values, geometry), geometry

    def save(self, run: Path) -> None:
        """Keep it in a run folder."""
        from truelabel.training.files import write_json

        write_json(run / RECORD, asdict(self))

    @classmethod
    def load(cls, run: Path) -> ImageReading:
        """As it was kept in a run folder; the default if the run was not trained from files."""
        from truelabel.training.files import read_json

        if not (run / RECORD).exists():
            return cls()
        note = read_json(run / RECORD)
        try:
            return cls(**{**note, **{name: note[name] and tuple(note[name]) for name in LISTS}})
        except (KeyError, TypeError) as error:
            raise ValueError(f"{run / RECORD} is damaged: {error!r}") from error


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
