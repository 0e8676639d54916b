"""The images and masks that a segmenter learned from, one at a time, and what it makes of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from truelabel import TrueLabelSegmenter
from truelabel.data.cases import Case, CaseReader
from truelabel.data.folder import existing_folder
from truelabel.data.mask_classes import white_is_one
from truelabel.data.mask_layouts import Roles, find_cases
from truelabel.data.preparation import Preparation
from truelabel.estimators.image_reading import ImageReading
from truelabel.report.run_folder import RunFolder


class Scan(NamedTuple):
    """One image with what was drawn on it.

    Attributes:
        image: ``(C, *space)``, prepared as for training.
        masks: ``(*space)`` positions of classes, -1 without a label, by reader.
    """

    image: NDArray[Any]
    masks: dict[str, NDArray[np.int64]]


class Study:
    """A run of a segmenter together with its inputs.

    Attributes:
        segmenter: as it was saved.
        names: of the images that are there, in the order of the run.
    """

    def __init__(self, segmenter: TrueLabelSegmenter, cases: dict[str, Case], names: list[str]) -> None:
        self.segmenter, self._cases = segmenter, cases
        self.names = names
        reading = segmenter.reading_ or ImageReading()
        self._values = list(reading.values or range(len(segmenter.classes_)))
        prepare = Preparation(reading.normalise, reading.spacing, reading.size, reading.crop)
        self._read = CaseReader(preparation=prepare, mode="L" if reading.grey else None)

    @classmethod
    def open(cls, run: RunFolder) -> Study:
        """Load the model and find the files; a ValueError in one line if these are gone."""
        data = Path(str(run.source.get("data") or ""))
        if not run.source.get("data") or not data.is_dir():
            raise ValueError("the images are not where source.json says; put them back and write the report again")
        segmenter = TrueLabelSegmenter.load(run.path)
        reading = segmenter.reading_ or ImageReading()
        readers = tuple(str(name) for name in segmenter.annotators_)
        cases, _ = find_cases(existing_folder(data), None, Roles(reading.images, readers), reading.pattern)
        found = {case.name: case for case in cases if case.pictures}
        names = [name for name in run.examples if name in found] or list(found)
        return cls(segmenter, found, names)

    def scan(self, name: str) -> Scan:
        """Read one image and its masks; a LookupError if it is not there."""
        example = self._read(self._cases[name])
        assert example.image is not None
        masks = {}
        for reader, stored in example.masks.items():
            values = stored.values
            if white_is_one(list(stored.found), None, frozenset()):
                values = np.where(values == 255, 1, values)
            coded = np.full(values.shape, -1, np.int64)
            for place, value in enumerate(self._values):
                coded[values == value] = place
            masks[reader] = coded
        return Scan(example.image, masks)

    def believed(self, image: NDArray[Any]) -> NDArray[np.int64]:
        """The class that the network gives each pixel of ``(C, *space)``: ``(*space)``."""
        return np.asarray(self.segmenter.predict_proba(image[None]).argmax(1)[0], np.int64)
