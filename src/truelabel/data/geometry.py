"""Where the pixels of a picture or volume lie, so that a mask of it can be written back to the same place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

MOST_VOXELS = 1 << 30
"""Volumes above this are refused before they are read; raise it for files that you trust."""


@dataclass(frozen=True, eq=False)
class Geometry:
    """The grid of a picture or volume.

    Attributes:
        shape: ``(*space)``, pixels along each axis, in the order of the array.
        spacing: the distance of neighbours along each axis, in millimetres for NIfTI; by default that of the affine,
            and 1 without one.
        affine: ``(4, 4)``, from the position in the array to millimetres in the scanner; None for pictures.

    Raises:
        ValueError: if the parts do not fit together.

    Example:
        >>> Geometry((64, 48)).spacing
        (1.0, 1.0)
        >>> Geometry((64, 48, 9), affine=np.diag([0.5, 0.5, 3, 1])).spacing
        (0.5, 0.5, 3.0)
    """

    shape: tuple[int, ...]
    spacing: tuple[float, ...] = ()
    affine: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        axes = len(self.shape)
        spacing = np.ones(axes)
        if self.affine is not None:
            affine = np.array(self.affine, np.float64)
            if affine.shape != (4, 4) or not np.isfinite(affine).all():
                raise ValueError(f"affine is not (4, 4) finite numbers but {affine.tolist()}: mend the file's header")
            affine.setflags(write=False)
            object.__setattr__(self, "affine", affine)
            spacing = np.linalg.norm(affine[:3, :axes], axis=0)
        if len(self.spacing):
            spacing = np.asarray(self.spacing, np.float64)
        if spacing.shape != (axes,) or not ((spacing > 0) & (spacing < np.inf)).all():
            raise ValueError(
                f"spacing {tuple(spacing.tolist())} does not fit shape {self.shape}: pass one positive number an axis"
            )
        object.__setattr__(self, "spacing", tuple(spacing.tolist()))

    def require_same(self, other: Geometry, file: Any, other_file: Any, *, tolerance: float = 0.01) -> None:
        """Raise a one-line ValueError unless both grids have one shape and put every pixel in one place.

        A picture without affine says nothing about its place, so only the shape counts beside it.

        Args:
            other: the grid to compare with.
            file: where this one comes from, for the message.
            other_file: where the other one comes from.
            tolerance: how far a corner may be off, in units of the smallest spacing.

        Example:
            >>> Geometry((4, 6)).require_same(Geometry((4, 5)), "a.png", "b.png")
            Traceback (most recent call last):
            ValueError: b.png is 4 x 5 but a.png is 4 x 6: bring both to one grid first
        """
        if self.shape != other.shape:
            raise ValueError(
                f"{other_file} is {extent(other.shape)} but {file} is {extent(self.shape)}: "
                "bring both to one grid first"
            )
        if self.affine is None or other.affine is None:
            return
        off = np.abs(self._corners(self.affine) - self._corners(other.affine)).max()
        if off > tolerance * min(self.spacing):
            raise ValueError(
                f"{other_file} lies elsewhere than {file} (a corner is {off:.3g} mm off, by their affines): "
                "resample one to the grid of the other first"
            )

    def cropped(self, size: Sequence[int]) -> Geometry:
        """The grid of a centre crop to ``size``, larger or smaller: spacing stays, the origin moves.

        Example:
            >>> Geometry((4, 6), (1, 2), np.diag([1.0, 2.0, 1.0, 1.0])).cropped((2, 6)).affine[:2, 3]
            array([1., 0.])
        """
        step, start = np.ones(len(self.shape)), np.array(crop_start(self.shape, size), np.float64)
        return Geometry(tuple(size), self.spacing, self._moved(step, start))

    def resized(self, size: Sequence[int]) -> Geometry:
        """The grid of the same field in ``size`` pixels: the outer edges stay, so centres move.

        Example:
            >>> Geometry((4, 6)).resized((2, 2)).spacing
            (2.0, 3.0)
        """
        step = np.array(self.shape) / np.array(size)
        spacing = tuple((np.array(self.spacing) * step).tolist())
        return Geometry(tuple(size), spacing, self._moved(step, (step - 1) / 2))

    def _moved(self, step: npt.NDArray[np.float64], start: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        """The affine of a grid whose pixel ``i`` is at ``start + step * i`` of this one."""
        if self.affine is None:
            return None
        inner, axes = np.eye(4), len(self.shape)
        inner[range(axes), range(axes)] = step
        inner[:axes, 3] = start
        return self.affine @ inner

    def _corners(self, affine: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        ends = np.zeros((3, 2))
        ends[: len(self.shape), 1] = np.array(self.shape) - 1
        corners = np.stack(np.meshgrid(*ends, [1.0], indexing="ij"), -1).reshape(-1, 4)
        return corners @ affine[:3].T


def crop_start(shape: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """Where a centre crop begins along each axis; below 0 where it pads."""
    return tuple((have - want) // 2 for have, want in zip(shape, size, strict=True))


def extent(shape: Sequence[int]) -> str:
    """A shape for messages: ``4 x 6``."""
    return " x ".join(map(str, shape))


def refuse_absurd(path: Path, shape: tuple[int, ...]) -> None:
    """Raise a one-line ValueError if a file says that it holds more than :data:`MOST_VOXELS`."""
    if math.prod(shape) > MOST_VOXELS:
        raise ValueError(
            f"{path} is absurdly large ({extent(shape)}): "
            "shrink it, or raise truelabel.data.geometry.MOST_VOXELS if you trust it"
        )
