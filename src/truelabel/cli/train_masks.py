"""``truelabel train`` on images and the masks of several readers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truelabel.cli.extents import parse_extent, parse_spacing
from truelabel.cli.fusion_folder import MOST_CELLS, confusion_cells
from truelabel.cli.run_quality import Source, region_columns
from truelabel.cli.runs import show_run
from truelabel.cli.tables import show_readers, write_columns
from truelabel.coding import class_names
from truelabel.data import ReadImages, mask_folder, read_mask, read_picture
from truelabel.data.folder import existing_folder
from truelabel.data.mask_classes import named_values
from truelabel.data.mask_layouts import find_cases
from truelabel.estimators import TrueLabelSegmenter
from truelabel.estimators.image_reading import ImageReading
from truelabel.metrics import dice
from truelabel.training.files import write_json
from truelabel.types import MISSING

if TYPE_CHECKING:
    from truelabel.cli.mask_reading import MaskReading
    from truelabel.quality import Regions

TOGETHER = 16
"""Images that are answered at once."""


@dataclass(frozen=True)
class Wanted:
    """What the command line says of pictures, as it was typed.

    Attributes:
        masks: how masks are read.
        grey: bring pictures of 8 bits to one channel.
        drop_unread: leave out pictures that nobody read.
        normalise: "all" or "nonzero".
        spacing: like ``1,1,3``.
        size: like ``64``, ``48x64`` or ``32x64x64``; likewise ``crop`` and ``patch``.
        crop: of what is learned from.
        patch: of what is learned from at a time.
    """

    masks: MaskReading
    grey: bool = False
    drop_unread: bool = False
    normalise: Any = None
    spacing: str | None = None
    size: str | None = None
    crop: str | None = None
    patch: str | None = None

    def read(self, folder: Path) -> tuple[ReadImages, ImageReading, tuple[int, ...] | None]:
        """Images and masks of a folder, how they were read, and the size of patches."""
        axes, bytes_ = self._look(folder)
        known, names = named_values(self.masks.classes), self.masks.images or ("image",)
        normalise: Any = self.normalise or (None if bytes_ else "all")
        size, crop, patch = (parse_extent(f"--{name}", getattr(self, name), axes) for name in ("size", "crop", "patch"))
        spacing = parse_spacing(self.spacing)
        data = mask_folder(
            folder,
            layout=self.masks.layout,
            images=names,
            readers=self.masks.readers,
            pattern=self.masks.pattern,
            classes=known,
            void=self.masks.void,
            normalise=normalise,
            spacing=spacing,
            size=size,
            crop=crop,
            mode="L" if self.grey else None,
            unread="drop" if self.drop_unread else "error",
        )
        values = tuple(int(value) for value in (data.classes if known is None else known))
        reading = ImageReading(names, self.grey, normalise, spacing, size, crop, self.masks.pattern, values)
        return data, reading, patch

    def _look(self, folder: Path) -> tuple[int, bool]:
        """How many axes of space the first image has, and whether it is stored in bytes."""
        roles = self.masks.roles(with_pictures=True)
        try:
            cases, _ = find_cases(existing_folder(folder), self.masks.layout, roles, self.masks.pattern)
        except ValueError as error:
            # Who says nothing of masks, where there are none, has most probably forgotten the labels of pictures.
            said = (self.masks.layout, self.masks.images, self.masks.readers, self.masks.pattern)
            forgot = not any(said) and f"{error}".startswith("folder")
            raise ValueError(f"LABELS is missing, and {error}" if forgot else error) from error
        case = next(case for case in cases if case.masks and case.pictures)
        _, geometry = read_mask(next(iter(case.masks.values())), classes=self.masks.classes, void=self.masks.void)
        picture, _ = read_picture(case.pictures[0])
        return len(geometry.shape), picture.dtype == np.uint8


def train_masks(
    folder: Path,
    wanted: Wanted,
    method: Any,
    network: str,
    settings: dict[str, Any],
    out: Path,
    folds: int = 0,
) -> None:
    """Train a segmenter, or go on with what the run folder holds; keep all that `truelabel predict` needs.

    Args:
        folder: images and masks.
        wanted: how to read them.
        method: one for pixels, with its options.
        network: its name.
        settings: of the training, by name.
        out: the run folder.
        folds: judge masks by so many networks that have not seen them; 0 for the one that has.
    """
    data, reading, patch = wanted.read(folder)
    segmenter = TrueLabelSegmenter(method, network, patch=patch, standardize=False, folder=out, **settings)
    segmenter.fit(data.images, data.annotations)
    readers = _readers(segmenter, data)
    segmenter.reading_ = reading
    segmenter.save(out)
    Source.of(folder, None).save(out)
    regions = segmenter.suspect_regions(data.images, data.annotations, folds=folds)
    suspected = region_columns(segmenter, regions, data.annotations.examples)
    tables = {"label_quality.csv": suspected, "annotators.csv": readers}
    if segmenter.confusion_.size <= MOST_CELLS:
        cells = confusion_cells("reader", data.readers, data.classes, segmenter.confusion_)
        tables["confusion.csv"] = cells
    for name, columns in tables.items():
        write_columns(columns, out / name)
    _note_quality(segmenter, regions, data, out, folds)
    show_readers(readers, "the network", "What the network makes of the readers")
    show_run(segmenter, data, out, tables)


def _note_quality(segmenter: TrueLabelSegmenter, regions: Regions, data: ReadImages, out: Path, folds: int) -> None:
    """How the masks were judged, and the share of their pixels in regions that are probably wrong."""
    drawn = int((data.annotations.label != MISSING).sum())
    wrong = float(((1 - regions.probability_right) * regions.pixels).sum())
    note = {"out_of_sample": folds > 0, "folds": folds, "classes": class_names(segmenter.classes_)}
    write_json(out / "quality.json", {**note, "noise_rate": wrong / drawn})
    write_columns({"example": data.annotations.examples}, out / "examples.csv")


def _readers(segmenter: TrueLabelSegmenter, data: ReadImages) -> dict[str, Any]:
    """A row for each reader: images read, skill, mean Dice with what the network says."""
    said = data.annotations
    overlap = np.zeros(len(data.readers))
    for images, answer in _answers(segmenter, data):
        rows = np.flatnonzero((said.example >= images[0]) & (said.example <= images[-1]))
        masks = said.label[rows]
        truth = np.where(masks == MISSING, MISSING, answer[said.example[rows] - images[0]])
        np.add.at(overlap, said.annotator[rows], dice(masks, truth, classes=len(data.classes)))
    return {
        "reader": data.readers,
        "images": said.workload,
        "skill": segmenter.annotator_skill_,
        "dice": overlap / said.workload,
    }


def _answers(segmenter: TrueLabelSegmenter, data: ReadImages) -> Iterator[tuple[range, Any]]:
    """Class positions ``(n, *space)`` that the network gives some images at a time."""
    assert data.images is not None
    for first in range(0, len(data), TOGETHER):
        images = range(first, min(first + TOGETHER, len(data)))
        yield images, segmenter.predict_proba(data.images[images.start : images.stop]).argmax(1)
