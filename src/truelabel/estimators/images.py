"""From what users pass as images and masks to arrays and annotations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.annotations import Annotations
from truelabel.coding import LabelError, Name, is_missing
from truelabel.types import MISSING


def check_images(images: Any, *, standardize: bool, dims: int = 2) -> NDArray[Any]:
    """Images ``(N, C, *space)`` as bytes or float32, finite; ``(N, *space)`` gets a channel.

    Args:
        images: an array, or a list of images ``(C, *space)``; those of different sizes are padded to the largest.
        standardize: bring every channel of every image of floats to mean 0 and variance 1, before it is padded.
        dims: axes of the space of images that have no axis of channels.
    """
    sizes = _sizes(images, dims)
    values = padded(images) if sizes else np.asarray(images)
    values = values[:, None] if values.ndim == 1 + dims else values
    if values.ndim not in (4, 5):
        raise ValueError(
            "images must be (N, C, H, W) or (N, C, D, H, W), or these without C if there is one channel, "
            f"got shape {values.shape}"
        )
    if values.dtype.kind not in "biuf":
        raise ValueError(f"images must hold numbers, got {values.dtype}")
    if not len(values):
        raise ValueError("images has no image in it")
    if values.dtype == np.uint8:
        return np.require(values, requirements=["C", "W"])  # torch refuses mirrored, warns of read-only
    with np.errstate(over="ignore"):  # what is too large for float32 becomes infinite, and is told of
        values = values.astype(np.float32)
    if not np.isfinite(values).all():
        bad = int((~np.isfinite(values)).reshape(len(values), -1).any(-1).argmax())
        raise ValueError(f"images contains NaN or infinity, first in image {bad}: remove or fill it")
    if not standardize:
        return values
    if not sizes:
        return standardized(values)
    parts = [value[(..., *map(slice, size[2 - values.ndim :]))] for value, size in zip(values, sizes, strict=True)]
    return padded([standardized(part[None])[0] for part in parts])


def space_axes(images: Any, masks: Any) -> int:
    """How many axes the space of images has, if they have no axis of channels.

    Masks tell: a picture of D channels ``(N, D, H, W)`` has masks ``(N, R, H, W)``, and a volume of one channel, which
    has the same axes, ``(N, R, D, H, W)``.

    Example:
        >>> images = np.zeros((2, 4, 5, 6))
        >>> space_axes(images, np.zeros((2, 3, 5, 6))), space_axes(images, np.zeros((2, 3, 4, 5, 6)))
        (2, 3)
    """
    if isinstance(masks, Annotations):
        return 3 if len(masks.space) == 3 else 2
    return 3 if (_axes(images), _axes(masks)) == (4, 5) else 2


def _axes(values: Any) -> int:
    """Axes of an array, or of the array that a list would be if its members were alike."""
    return 1 + np.ndim(values[0]) if isinstance(values, list | tuple) and values else np.ndim(values)


def differ(images: Any) -> bool:
    """Whether this is a list of arrays that do not fit into one."""
    return isinstance(images, list | tuple) and len({np.shape(image) for image in images}) > 1


def _sizes(images: Any, dims: int) -> list[tuple[int, ...]]:
    """The shapes of images that differ; none if they are alike."""
    if not differ(images):
        return []
    channels = {np.shape(image)[0] for image in images if np.ndim(image) > dims}
    if len(channels) > 1:
        raise ValueError(f"images have {' and '.join(map(str, sorted(channels)))} channels: give all the same")
    return [np.shape(image) for image in images]


def standardized(images: NDArray[np.float32]) -> NDArray[np.float32]:
    """Every channel of every image at mean 0 and variance 1; a flat one at 0.

    Example:
        >>> standardized(np.array([[[[1.0, 3.0]]]], np.float32))
        array([[[[-1.,  1.]]]], dtype=float32)
    """
    axes = tuple(range(2, images.ndim))
    mean, spread = images.mean(axes, keepdims=True), images.std(axes, keepdims=True)
    # The mean of equal numbers is off by a rounding error, so their spread is not always zero.
    flat = images.max(axes, keepdims=True) == images.min(axes, keepdims=True)
    scaled: NDArray[np.float32] = (images - mean) / np.where(flat, np.inf, spread)
    return scaled


def padded(images: Sequence[ArrayLike], fill: int | None = None) -> NDArray[Any]:
    """Images ``(..., *space)`` of different sizes in one array, each at the front of its place.

    Args:
        images: arrays with as many axes each.
        fill: what stands behind them, which their type is widened to hold; None repeats the border.

    Example:
        >>> padded([np.ones((1, 2, 2)), np.ones((1, 1, 3))], fill=0).tolist()
        [[[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0]]], [[[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]]]
    """
    arrays = [np.asarray(image) for image in images]
    axes = sorted({array.ndim for array in arrays})
    if len(axes) != 1:
        raise ValueError(f"arrays of a list have {' and '.join(map(str, axes))} axes: give all the same")
    largest = np.max([array.shape for array in arrays], 0)
    return np.stack([_fitted(array, largest, fill) for array in arrays])


def _fitted(array: NDArray[Any], shape: NDArray[Any], fill: int | None) -> NDArray[Any]:
    missing = [(0, int(whole - side)) for whole, side in zip(shape, array.shape, strict=True)]
    if fill is None:
        return np.pad(array, missing, mode="edge")
    return np.pad(array.astype(np.result_type(array, np.int8)), missing, constant_values=fill)


def padded_masks(masks: Sequence[ArrayLike], images: Any, space: tuple[int, ...]) -> NDArray[Any]:
    """A list of masks ``(R, *space)`` or ``(*space)`` of the sizes of their images in one array, -1 behind them."""
    for place, (mask, image) in enumerate(zip(masks, images, strict=False)):
        own, wanted = np.shape(mask)[-len(space) :], np.shape(image)[-len(space) :]
        if own != wanted:
            raise ValueError(f"mask {place} has the shape {own}, but image {place} {wanted}: one label for each pixel")
    return padded(masks, fill=MISSING)


def read_masks(
    masks: Any, space: tuple[int, ...], examples: int, annotators: Any = None, classes: Sequence[Name] | None = None
) -> Annotations:
    """Annotations of images, from what was drawn and by whom.

    Args:
        masks: ``(N, *space)``, one mask an image; ``(N, S, *space)``, several; or Annotations. -1 or NaN where there is
            no label.
        space: of the images.
        examples: N.
        annotators: who drew the masks: ``(N,)`` or ``(N, S)``, one an entry, empty (None, -1) where there is no mask;
            or, for ``(N, R, *space)``, the R names of the columns. Columns are readers by default.
        classes: all class names in order; those found, sorted, if None.
    """
    if isinstance(masks, Annotations):
        if annotators is not None:
            raise ValueError("annotators is part of Annotations already: leave it out")
        annotations = masks
        if classes is not None and list(masks.classes) != list(classes):
            raise ValueError(f"masks has the classes {list(masks.classes)}, but fit saw {list(classes)}")
    else:
        annotations = _from_arrays(np.asarray(masks), space, annotators, classes)
    if annotations.space != space:
        raise ValueError(f"masks have the shape {annotations.space}, but images {space}: one label for each pixel")
    if len(annotations.examples) != examples:
        raise ValueError(f"there are {examples} images, but masks of {len(annotations.examples)}: pass one row each")
    return annotations


def _from_arrays(
    masks: NDArray[Any], space: tuple[int, ...], annotators: Any, classes: Sequence[Name] | None
) -> Annotations:
    single = masks.ndim == 1 + len(space)
    masks = masks[:, None] if single else masks
    if masks.ndim != 2 + len(space):
        raise ValueError(f"masks must be (N, *space) or (N, readers, *space) for space {space}, got {masks.shape}")
    if annotators is None:
        return Annotations.from_masks(masks, classes=classes)
    who = _names(annotators)
    if who.ndim == 1 and not single:
        return Annotations.from_masks(masks, classes=classes, annotators=list(annotators))
    who = who[:, None] if who.ndim == 1 else who
    if who.shape != masks.shape[:2]:
        raise ValueError(f"annotators must name who drew each of {masks.shape[:2]} masks, got shape {who.shape}")
    return _by_reader(masks, who, classes)


def _names(annotators: Any) -> NDArray[Any]:
    """Names as an array; rows of different lengths are filled with None."""
    if isinstance(annotators, list | tuple) and annotators and all(isinstance(row, list | tuple) for row in annotators):
        most = max(len(row) for row in annotators)
        annotators = [[*row, *[None] * (most - len(row))] for row in annotators]
    return np.asarray(annotators, object)


def _by_reader(masks: NDArray[Any], who: NDArray[Any], classes: Sequence[Name] | None) -> Annotations:
    """Masks ``(N, S, *space)`` by the readers ``who (N, S)``, with a column for each reader."""
    given = np.array([[not is_missing(name, MISSING) for name in row] for row in who])
    names = sorted({who[at] for at in zip(*np.nonzero(given), strict=True)}, key=lambda name: (str(type(name)), name))
    if not names:
        raise LabelError("annotators names nobody: every entry is missing")
    column = {name: place for place, name in enumerate(names)}
    kind = masks.dtype if masks.dtype.kind == "f" else np.int64
    dense = np.full((len(masks), len(names), *masks.shape[2:]), MISSING, kind)
    for image, slot in zip(*np.nonzero(given), strict=True):
        place = column[who[image, slot]]
        if (dense[image, place] != MISSING).any():
            raise LabelError(f"annotator {who[image, slot]} drew image {image} twice: keep one mask")
        dense[image, place] = masks[image, slot]
    return Annotations.from_masks(dense, classes=classes, annotators=names)
