"""Images that several people segmented: the images, everybody's masks, and where the pixels lie."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truelabel.data.geometry import Geometry

if TYPE_CHECKING:
    from truelabel.annotations import Annotations


@dataclass(frozen=True, eq=False)
class ReadImages:
    """Images and what their readers drew.

    Attributes:
        images: ``(N, C, *space)``, uint8 as stored or float32; None if only masks were read.
        annotations: L masks ``(L, *space)`` of the N images by R readers, with the names of all three.
        geometry: ``(N,)``, the grid of each image as it is here, so after a crop that of the crop.

    Raises:
        ValueError: if the parts do not fit together.

    Example:
        >>> from truelabel import Annotations
        >>> masks = np.zeros((2, 3, 4, 6), int)
        >>> data = ReadImages(None, Annotations.from_masks(masks, classes=2), (Geometry((4, 6)),) * 2)
        >>> data
        ReadImages(2 images of 4 x 6, 6 masks by 3 readers, 2 classes: 0, 1)
    """

    images: npt.NDArray[Any] | None
    annotations: Annotations
    geometry: tuple[Geometry, ...]

    def __post_init__(self) -> None:
        count, space = len(self.annotations.examples), self.annotations.space
        if len(self.geometry) != count or any(grid.shape != space for grid in self.geometry):
            raise ValueError(f"geometry does not fit {count} masks of shape {space}: pass one of that shape for each")
        if self.images is None:
            return
        if self.images.dtype not in (np.uint8, np.float32):
            raise ValueError(f"images are {self.images.dtype}: pass uint8 or float32")
        if self.images.ndim < 4 or (len(self.images), *self.images.shape[2:]) != (count, *space):
            raise ValueError(f"images are {self.images.shape}: pass (N, C, *space) with N = {count}, space = {space}")

    def __len__(self) -> int:
        return len(self.geometry)

    @property
    def names(self) -> npt.NDArray[Any]:
        """``(N,)``, the name of each image."""
        return self.annotations.examples

    @property
    def readers(self) -> npt.NDArray[Any]:
        """``(R,)``, the name of each reader."""
        return self.annotations.annotators

    @property
    def classes(self) -> tuple[str | int, ...]:
        """The K classes: names, or the values in the masks."""
        return self.annotations.classes

    def scaled(self) -> npt.NDArray[np.float32]:
        """The images as float32: uint8 is divided by 255, so it lies in [0, 1]; all else stays as it is.

        Returns:
            ``(N, C, *space)``.
        """
        if self.images is None:
            raise ValueError("images were not read: leave images=None out")
        scaled: npt.NDArray[np.float32] = self.images.astype(np.float32, copy=False)
        if self.images.dtype == np.uint8:
            scaled /= 255
        return scaled

    def take(self, index: npt.ArrayLike) -> ReadImages:
        """The images at ``index (n,)``, in that order, with all readers and classes kept.

        Example:
            >>> from truelabel import Annotations
            >>> masks = Annotations.from_masks(np.zeros((3, 1, 2, 2), int), examples=["a", "b", "c"])
            >>> ReadImages(None, masks, (Geometry((2, 2)),) * 3).take([2, 0]).names.tolist()
            ['c', 'a']
        """
        rows = np.arange(len(self))[np.asarray(index, np.int64 if np.size(index) == 0 else None)]
        images = None if self.images is None else self.images[rows]
        return ReadImages(images, self.annotations.take(rows), tuple(self.geometry[row] for row in rows))

    def __repr__(self) -> str:
        space = " x ".join(map(str, self.annotations.space))
        names = ", ".join(map(str, self.classes[:6])) + (", …" if len(self.classes) > 6 else "")
        return (
            f"ReadImages({len(self)} images of {space}, {self.annotations.size} masks by {len(self.readers)} readers, "
            f"{len(self.classes)} classes: {names})"
        )
