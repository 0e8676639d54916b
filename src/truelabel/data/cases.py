"""From files to images with several readers' masks: what belongs together is read, checked and put side by side."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from truelabel.data.geometry import Geometry, extent
from truelabel.data.mask_classes import MISSING, WHITE, Classes, named_values, void_values
from truelabel.data.masks import Mask, load_mask
from truelabel.data.preparation import Preparation
from truelabel.data.rasters import read_picture
from truelabel.data.read_images import ReadImages


class Case(NamedTuple):
    """The files of one image: its name, the pictures whose channels are put together, and the mask of each reader."""

    name: str
    pictures: tuple[Path, ...]
    masks: Mapping[str, Path]


class Example(NamedTuple):
    """One image as read: a file for messages, pixels ``(C, *space)``, what readers drew, and the grid."""

    source: Path
    image: npt.NDArray[Any] | None
    masks: Mapping[str, Stored]
    geometry: Geometry


class Stored(NamedTuple):
    """A mask with the numbers of its file, ``(*space)``, and those that occur in it."""

    values: Mask
    found: Collection[int]
    path: Path


class Found(NamedTuple):
    """The values in a mask."""

    path: Path
    values: frozenset[int]


_AS_STORED = Preparation()
_LARGE_TABLE = 1 << 16


@dataclass(frozen=True)
class CaseReader:
    """Reads the files of one case.

    Attributes:
        known: the name of each value that masks may hold; None if nobody said.
        void: values that mean "no label".
        preparation: what is done to pictures and masks.
        mode: colour or grey, for pictures of 8 bits.
    """

    known: Mapping[int, str | int] | None = None
    void: frozenset[int] = frozenset()
    preparation: Preparation = _AS_STORED
    mode: Literal["RGB", "L"] | None = None

    def __call__(self, case: Case) -> Example:
        """Read one case; its pictures and masks must share one grid."""
        masks, grids = {}, []
        for reader, path in case.masks.items():
            values, found, grid = load_mask(path, self.known, self.void)
            masks[reader] = Stored(values, found, path)
            grids.append((grid, path))
        axes: Any = len(grids[0][0].shape) if grids else None
        pictures = []
        for path in case.pictures:
            picture, grid = read_picture(path, mode=self.mode, axes=axes)
            pictures.append(picture)
            grids.append((grid, path))
        # Pictures lead, for masks are to fit them; a picture without affine leaves the place to a mask that has one.
        grids = grids[len(masks) :] + grids[: len(masks)]
        grids.sort(key=lambda pair: pair[0].affine is None)
        geometry, source = grids[0]
        for grid, path in grids[1:]:
            geometry.require_same(grid, source, path)
        prepare = self.preparation
        image = prepare.image(_stacked(pictures), geometry) if pictures else None
        prepared = {r: m._replace(values=prepare.mask(m.values, geometry)) for r, m in masks.items()}
        return Example(source, image, prepared, prepare.geometry(geometry))


def read_cases(
    cases: Sequence[Case],
    readers: Sequence[str],
    *,
    classes: Classes | None = None,
    void: int | Collection[int] | None = None,
    preparation: Preparation = _AS_STORED,
    mode: Literal["RGB", "L"] | None = None,
) -> ReadImages:
    """Read all cases into one array of images and one table of masks.

    Args:
        cases: in the order wanted.
        readers: ``(R,)`` names, in the order wanted; those of other names are not read.
        classes: as in :func:`truelabel.data.mask_folder`.
        void: values that mean "no label".
        preparation: what is done to pictures and masks.
        mode: colour or grey, for pictures of 8 bits.
    """
    read = CaseReader(named_values(classes), void_values(void), preparation, mode)
    masks = sum(len(case.masks) for case in cases)
    return collect(map(read, cases), [case.name for case in cases], readers, masks, read)


def collect(
    examples: Iterable[Example], names: Sequence[str], readers: Sequence[str], masks: int, read: CaseReader
) -> ReadImages:
    """Put examples side by side as they come, each in its place, so that none is held twice.

    Args:
        examples: N of them.
        names: ``(N,)``.
        readers: ``(R,)``; masks by others are left out.
        masks: at most how many there are in all.
        read: what knows the classes.
    """
    from truelabel.annotations import Annotations, label_type
    from truelabel.coding import name_array

    images: npt.NDArray[Any] | None = None
    label: npt.NDArray[Any] = np.empty(0, np.int16)
    first: Example | None = None
    given: list[Found] = []
    geometry, example_of, annotator_of = [], [], []
    for row, example in enumerate(examples):
        if first is None:
            first, label = example, np.empty((masks, *example.geometry.shape), np.int16)
            if example.image is not None:
                images = np.empty((len(names), *example.image.shape), example.image.dtype)
        _require_alike(first, example)
        geometry.append(example.geometry)
        if images is not None:
            images[row] = example.image
        for position, reader in enumerate(readers):
            mask = example.masks.get(reader)
            if mask is None or not mask.found:
                continue
            label = label if label.dtype >= mask.values.dtype else label.astype(mask.values.dtype)
            label[len(given)] = mask.values
            given.append(Found(mask.path, frozenset(mask.found)))
            example_of.append(row)
            annotator_of.append(position)
    label = label[: len(given)]
    position_of, class_names = _coding(given, read)
    if any(value != position for value, position in position_of.items()):
        for mask_values in label:  # one by one, for all at once would need as much memory again
            mask_values[...] = _recoded(mask_values, position_of)
    annotations = Annotations(
        np.array(example_of, np.int32),
        np.array(annotator_of, np.int32),
        label.astype(label_type(len(class_names)), copy=False),
        name_array(names),
        name_array(readers),
        class_names,
    )
    return ReadImages(images, annotations, tuple(geometry))


def _stacked(pictures: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return pictures[0] if len(pictures) == 1 else np.concatenate(pictures)


def _require_alike(first: Example, other: Example) -> None:
    if other.geometry.shape != first.geometry.shape:
        raise ValueError(
            f"{other.source} is {extent(other.geometry.shape)} but {first.source} is {extent(first.geometry.shape)}: "
            "pass size= to resample all to one size, or crop= to cut or pad them"
        )
    if first.image is None or other.image is None:
        return
    if len(other.image) != len(first.image):
        raise ValueError(
            f"{other.source} has {len(other.image)} channels but {first.source} has {len(first.image)}: "
            "pass mode='RGB' or 'L' for pictures of 8 bits, or leave one out"
        )
    if other.image.dtype != first.image.dtype:
        raise ValueError(
            f"{other.source} is {other.image.dtype} but {first.source} is {first.image.dtype}: "
            "save them alike, or pass normalise='all'"
        )


def _coding(masks: Sequence[Found], read: CaseReader) -> tuple[dict[int, int], tuple[str | int, ...]]:
    """The class position of every value in the masks, and the names of classes."""
    found = {value for mask in masks for value in mask.values}
    white_as_one = read.known is None and WHITE in found
    if white_as_one:
        _require_black_and_white(masks, found)
        found = {0, 1}
    named = {value: value for value in sorted(found)} if read.known is None else read.known
    position_of = {value: position for position, value in enumerate(named)}
    if white_as_one or set(named) == {0, 1}:
        position_of[WHITE] = position_of[1]
    position_of[MISSING] = MISSING
    return position_of, tuple(named.values())


def _recoded(values: npt.NDArray[Any], position_of: Mapping[int, int]) -> npt.NDArray[Any]:
    """The class position of every value."""
    known, positions = (np.array(part) for part in zip(*sorted(position_of.items()), strict=True))
    if known[-1] >= _LARGE_TABLE:  # as the numbers of atlases are
        return np.asarray(positions[np.searchsorted(known, values)])
    table = np.zeros(known[-1] + 2, values.dtype)
    table[known] = positions  # that of -1 is the last
    return np.asarray(table[values])


def _require_black_and_white(masks: Sequence[Found], found: set[int]) -> None:
    """Some masks hold 255: refuse to guess what it means unless the others hold 0 and 1 at most."""
    white = next(mask for mask in masks if WHITE in mask.values)
    other = next((mask for mask in masks if mask.values - {0, 1, WHITE} or {1, WHITE} <= mask.values), None)
    if other is not None:
        beside = next(iter(sorted(other.values - {0, WHITE})))
        raise ValueError(
            f"{white.path} holds 255, and {other.path} holds {beside}: pass void=255 if 255 means no label, "
            f"or classes= with all of {', '.join(map(str, sorted(found)))}"
        )
