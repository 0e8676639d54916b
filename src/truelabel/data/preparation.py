"""What is done to pictures and masks before they are learned from: crop, resample, normalise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truelabel.data.geometry import Geometry, crop_start
from truelabel.data.mask_classes import MISSING


def centre_crop(values: npt.NDArray[Any], size: Sequence[int], fill: float = 0) -> npt.NDArray[Any]:
    """Cut the middle out of the last axes; where ``size`` is larger, pad both sides.

    Where the difference is odd, the crop takes the lower half of it and the padding puts more in front.

    Args:
        values: ``(..., *space)``.
        size: ``(*space)`` wanted.
        fill: what to pad with: -1 for masks.

    Returns:
        ``(..., *size)`` of the same type.

    Example:
        >>> centre_crop(np.arange(5), (3,)), centre_crop(np.arange(3), (5,), fill=9)
        (array([1, 2, 3]), array([9, 0, 1, 2, 9]))
    """
    size = _checked(size, values.ndim)
    lead, space = values.shape[: -len(size)], values.shape[-len(size) :]
    result = np.full((*lead, *size), fill, values.dtype)
    source: list[Any] = [...]
    target: list[Any] = [...]
    for start, have, want in zip(crop_start(space, size), space, size, strict=True):
        source.append(slice(max(start, 0), min(start + want, have)))
        target.append(slice(max(-start, 0), min(have - start, want)))
    result[tuple(target)] = values[tuple(source)]
    return result


def resize(values: npt.NDArray[Any], size: Sequence[int], order: int = 1) -> npt.NDArray[Any]:
    """Bring the last axes to ``size`` pixels; the field stays the same, from edge to edge.

    Args:
        values: ``(..., *space)``.
        size: ``(*space)`` wanted.
        order: 0 takes the nearest pixel (for masks), 1 is linear, up to 5; all but 0 smooth before they shrink.

    Returns:
        ``(..., *size)``; uint8 stays so, and so does everything with order 0; all else becomes float32.

    Example:
        >>> resize(np.array([[1, 2]], np.int16), (1, 4), order=0)
        array([[1, 1, 2, 2]], dtype=int16)
    """
    size = _checked(size, values.ndim)
    if order not in range(6):
        raise ValueError(f"order {order!r} is unknown: pass 0 for masks, 1 for pictures, at most 5")
    lead, space = values.shape[: -len(size)], values.shape[-len(size) :]
    if size == space:
        return values.copy()
    if order == 0:
        nearest = [((np.arange(want) + 0.5) * have / want).astype(int) for have, want in zip(space, size, strict=True)]
        return values[..., *np.ix_(*nearest)]
    from skimage import transform

    interpolate: Any = transform.resize
    single = values.astype(np.float32)
    shrinks = any(want < have for have, want in zip(space, size, strict=True))
    resized = interpolate(single, (*lead, *size), order, mode="edge", preserve_range=True, anti_aliasing=shrinks)
    if values.dtype == np.uint8:
        return np.asarray(np.rint(resized).clip(0, 255), np.uint8)
    return np.asarray(resized, np.float32)


def resample(
    values: npt.NDArray[Any], spacing: Sequence[float], to_spacing: Sequence[float], order: int = 1
) -> npt.NDArray[Any]:
    """Bring the last axes from one spacing to another.

    An axis of n pixels becomes one of ``round(n * spacing / to_spacing)``, at least 1; the field stays the same from
    edge to edge, so the spacing is ``to_spacing`` to within that rounding.

    Args:
        values: ``(..., *space)``.
        spacing: of each axis of space.
        to_spacing: likewise, as wanted.
        order: as in :func:`resize`: 0 for masks, 1 for pictures.

    Returns:
        As :func:`resize`.

    Example:
        >>> resample(np.zeros((1, 10, 20), np.uint8), (0.5, 2), (1, 1)).shape
        (1, 5, 40)
    """
    return resize(values, resampled_size(values.shape[-len(spacing) :], spacing, to_spacing), order)


def resampled_size(shape: Sequence[int], spacing: Sequence[float], to_spacing: Sequence[float]) -> tuple[int, ...]:
    """Pixels that each axis has at another spacing."""
    if not len(shape) == len(spacing) == len(to_spacing) or not all(0 < step < np.inf for step in to_spacing):
        raise ValueError(
            f"spacing {tuple(to_spacing)} does not fit {len(shape)} axes of spacing {tuple(spacing)}: "
            "pass one positive number an axis"
        )
    steps = zip(shape, spacing, to_spacing, strict=True)
    return tuple(max(1, round(have * step / wanted)) for have, step, wanted in steps)


def normalise_case(volume: npt.NDArray[Any], where: Literal["nonzero", "all"] = "nonzero") -> npt.NDArray[np.float32]:
    """Give every channel of one case mean 0 and variance 1.

    Zhang 2020 (section 5.2 and its code) do so per case and modality.

    Args:
        volume: ``(C, *space)``.
        where: ``"nonzero"`` looks at, and changes, only what is not 0, as for scans without the skull;
            ``"all"`` takes every pixel.

    Returns:
        ``(C, *space)``; a channel of a single value becomes 0.

    Example:
        >>> normalise_case(np.array([[0, 1.0, 3.0]]))
        array([[ 0., -1.,  1.]], dtype=float32)
    """
    if where not in ("nonzero", "all"):
        raise ValueError(f"where {where!r} is unknown: pass 'nonzero' or 'all'")
    normal = np.zeros(volume.shape, np.float32)
    for channel, source in zip(normal, volume, strict=True):
        chosen = source != 0 if where == "nonzero" else np.ones(source.shape, bool)
        values = source[chosen].astype(np.float64)
        if values.size:
            spread = values.std()
            channel[chosen] = (values - values.mean()) / (spread if spread > 0 else 1)
    return normal


@dataclass(frozen=True)
class Preparation:
    """What to do to every case, in this order.

    Attributes:
        normalise: give each channel mean 0 and variance 1 over ``"all"`` or ``"nonzero"`` pixels.
        spacing: resample to this spacing.
        size: resize to this many pixels.
        crop: cut or pad to this many pixels, round the centre.

    Example:
        >>> Preparation(size=(8, 8), crop=(4, 4))
        Traceback (most recent call last):
        ValueError: size (8, 8) and crop (4, 4) are both given: pass one of them
    """

    normalise: Literal["nonzero", "all"] | None = None
    spacing: Sequence[float] | None = None
    size: Sequence[int] | None = None
    crop: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if self.size is not None and self.crop is not None:
            raise ValueError(f"size {self.size} and crop {self.crop} are both given: pass one of them")
        if self.normalise not in (None, "nonzero", "all"):
            raise ValueError(f"normalise {self.normalise!r} is unknown: pass 'nonzero' or 'all'")

    def image(self, values: npt.NDArray[Any], geometry: Geometry) -> npt.NDArray[Any]:
        """A picture ``(C, *space)``, prepared."""
        if self.normalise is not None:
            values = normalise_case(values, self.normalise)
        return self._placed(values, geometry, order=1, fill=0)

    def mask(self, values: npt.NDArray[Any], geometry: Geometry) -> npt.NDArray[Any]:
        """A mask ``(*space)`` of the same grid, prepared: nearest pixels, and -1 where it is padded."""
        return self._placed(values, geometry, order=0, fill=MISSING)

    def geometry(self, geometry: Geometry) -> Geometry:
        """The grid of what comes out."""
        if self.spacing is not None:
            geometry = geometry.resized(resampled_size(geometry.shape, geometry.spacing, self.spacing))
        if self.size is not None:
            geometry = geometry.resized(_checked(self.size, len(geometry.shape), exactly=True))
        if self.crop is not None:
            geometry = geometry.cropped(_checked(self.crop, len(geometry.shape), exactly=True))
        return geometry

    def _placed(self, values: npt.NDArray[Any], geometry: Geometry, order: int, fill: int) -> npt.NDArray[Any]:
        if self.spacing is not None:
            values = resample(values, geometry.spacing, self.spacing, order)
        if self.size is not None:
            values = resize(values, self.size, order)
        if self.crop is not None:
            values = centre_crop(values, self.crop, fill)
        return values


def _checked(size: Sequence[int], axes: int, *, exactly: bool = False) -> tuple[int, ...]:
    fits = len(size) == axes if exactly else 0 < len(size) <= axes
    if not fits or min(size) < 1:
        raise ValueError(f"size {tuple(size)} does not fit {axes} axes: pass one positive number an axis")
    return tuple(int(n) for n in size)
