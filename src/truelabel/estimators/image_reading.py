"""How pictures are read and prepared for a segmenter; a run keeps it, so that new pictures are read alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truelabel.data import Geometry, read_picture
from truelabel.data.geometry import extent
from truelabel.data.preparation import Preparation
from truelabel.training.files import read_json, write_json

RECORD = "inputs.json"
LISTS = ("images", "size", "crop", "spacing", "values")


class NewImages(NamedTuple):
    """Images from files, prepared for a segmenter.

    Attributes:
        names: ``(N,)``, what each is called.
        images: ``(N, C, *space)``, or a list of ``(C, *space)`` where sizes differ.
        geometry: ``(N,)``, the grid of each file, as it was before images were prepared.
    """

    names: list[str]
    images: NDArray[Any] | list[NDArray[Any]]
    geometry: list[Geometry]


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
        return Preparation(self.normalise, self.spacing, self.size)

    def picture(self, files: Sequence[Path], channels: int, axes: int) -> tuple[NDArray[Any], Geometry]:
        """One picture as a network wants it, ``(C, *space)``, and the grid of its file.

        Args:
            files: one for each of ``images``.
            channels: C; pictures of 8 bits are brought to grey or colour if it is 1 or 3.
            axes: of space.
        """
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

    def doubt(self, images: NDArray[Any]) -> str | None:
        """Why images ``(N, C, *space)`` cannot have been read so; None if they may have been."""
        if self.size is not None and images.shape[2:] != self.size:
            return f"images are {extent(images.shape[2:])}, not {extent(self.size)}"
        if self.normalise is not None:
            if images.dtype == np.uint8:
                return "images are bytes, not brought to mean 0 and variance 1"
            mean = np.abs(images.mean(tuple(range(2, images.ndim)))).max()
            if mean > 1:
                return f"images have a mean of {mean:.3g}, not of 0"
        return None

    def save(self, run: Path) -> None:
        """Keep it in a run folder."""
        write_json(run / RECORD, asdict(self))

    @classmethod
    def load(cls, run: Path) -> ImageReading:
        """As it was kept in a run folder; the default if the run was not trained from files."""
        if not (run / RECORD).exists():
            return cls()
        note = read_json(run / RECORD)
        try:
            return cls(**{**note, **{name: note[name] and tuple(note[name]) for name in LISTS}})
        except (KeyError, TypeError) as error:
            raise ValueError(f"{run / RECORD} is damaged: {error!r}") from error
