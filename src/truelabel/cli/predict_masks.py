"""``truelabel predict`` with a run that segments: a mask for each picture."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truelabel.cli.mask_files import mask_ending, safe_name, save_map, save_mask, save_probabilities
from truelabel.cli.tables import counted
from truelabel.coding import class_names
from truelabel.data import Geometry, resize
from truelabel.data.pictures import Picture, find_pictures
from truelabel.data.rasters import ending
from truelabel.estimators import TrueLabelSegmenter
from truelabel.estimators.image_reading import ImageReading
from truelabel.training import Engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

PROBABILITIES, READERS, ERRORS, UNCERTAINTY = "probabilities", "readers", "errors", "uncertainty"
"""Folders of what may be written besides."""


def predict_masks(run: Path, data: Path, out: Path, device: Any, wanted: set[str]) -> None:
    """Write a mask for each picture, on its grid, each file whole or not at all.

    Args:
        run: folder of a segmenter.
        data: folder of pictures, or one.
        out: folder to write to.
        device: where to compute.
        wanted: of :data:`PROBABILITIES`, :data:`READERS`, :data:`ERRORS` and :data:`UNCERTAINTY`.
    """
    if out.exists() and not out.is_dir():
        raise ValueError(f"--out {out} is a file, but {run} segments: name a folder for the masks")
    segmenter = TrueLabelSegmenter.load(run)
    reading = segmenter.reading_ or ImageReading()
    segmenter.learner_.to(Engine(device=device).fabric("32-true").device)
    answers = Answers(segmenter, reading, out, wanted)
    people = [str(name) for name in segmenter.annotators_]
    pictures, left_out = find_pictures(data, reading.images, people, reading.pattern, _apart(out, data))
    for picture in pictures:
        _check(picture, out)
    for picture in _shown(pictures):
        answers.write(picture)
    also = f", and {', '.join(sorted(wanted))} to folders of that name in it" if wanted else ""
    typer.echo(f"Wrote {counted({'mask': len(pictures)})} to {out}{also}")
    if left_out:
        typer.echo(f"Left out {counted({'file': len(left_out)})}, by name no picture, such as {left_out[0]}")


def _apart(out: Path, data: Path) -> Path | None:
    """The folder of results, if it lies within that of pictures, where an earlier call may have left some."""
    return None if data.resolve().is_relative_to(out.resolve()) else out


def _check(picture: Picture, out: Path) -> None:
    """Refuse to write over a picture."""
    for file in picture.files:
        if file.resolve() == (out / f"{picture.name}{ending(file)}").resolve():
            raise ValueError(f"--out {out} would put a mask in the place of {file}: name another folder")


class Answers:
    """What a segmenter says of pictures, as files."""

    def __init__(self, segmenter: TrueLabelSegmenter, reading: ImageReading, out: Path, wanted: set[str]) -> None:
        self.segmenter, self.reading, self.out, self.wanted = segmenter, reading, out, wanted
        self.values = _values(segmenter, reading)
        self.readers = [safe_name(name) for name in segmenter.annotators_]

    def write(self, picture: Picture) -> None:
        """All files of one picture."""
        channels, *space = self.segmenter.input_shape_
        image, geometry = self.reading.picture(picture.files, channels, len(space))
        end, images = mask_ending(picture.files[0], geometry), image[None]
        probs = _back(self.segmenter.predict_proba(images)[0], geometry)
        self._mask(self.out / f"{picture.name}{end}", probs, geometry)
        if PROBABILITIES in self.wanted:
            even = probs / probs.sum(0)
            save_probabilities(self.out / PROBABILITIES / picture.name, even, self.values, geometry, end)
        if READERS in self.wanted:
            said = self.segmenter.annotator_proba(images)[0]
            for reader, own in zip(self.readers, said, strict=True):
                self._mask(self.out / READERS / reader / f"{picture.name}{end}", _back(own, geometry), geometry)
        if ERRORS in self.wanted:
            self._errors(picture.name, images, geometry, end)
        if UNCERTAINTY in self.wanted:
            self._uncertainty(picture.name, images, geometry, end)

    def _mask(self, path: Path, probs: NDArray[Any], geometry: Geometry) -> None:
        save_mask(path, probs.argmax(0), self.values, geometry, ())

    def _errors(self, name: str, images: NDArray[Any], geometry: Geometry, end: str) -> None:
        """Maps of each kind of mistake; with two classes none is taken for another."""
        maps = self.segmenter.error_maps(images)
        kinds = {"over": maps.over, "under": maps.under} | ({"mixed": maps.mixed} if len(self.values) > 2 else {})
        for kind, values in kinds.items():
            for reader, own in zip(self.readers, values[0], strict=True):
                save_map(self.out / ERRORS / reader / f"{name}_{kind}{end}", _back(own, geometry), geometry)

    def _uncertainty(self, name: str, images: NDArray[Any], geometry: Geometry, end: str) -> None:
        """Heat maps, as shares of the most that there can be: a variance of 1/4, the entropy of classes all alike."""
        maps = self.segmenter.uncertainty(images)
        folder, classes = self.out / UNCERTAINTY, len(self.values)
        kinds = {f"variance_{value}": 4 * own for value, own in zip(self.values, maps.variance[0], strict=True)}
        kinds["entropy"] = maps.entropy[0] / math.log(max(classes, 2))
        for kind, own in kinds.items():
            save_map(folder / f"{name}_{kind}{end}", _back(own, geometry), geometry)


def _values(segmenter: TrueLabelSegmenter, reading: ImageReading) -> tuple[int, ...]:
    """The number of each class in masks: as it was read, or else the class itself, or its position."""
    if reading.values is not None:
        return reading.values
    names = class_names(segmenter.classes_)
    if all(isinstance(name, int) and name >= 0 for name in names):
        return tuple(int(name) for name in names)
    return tuple(range(len(names)))


def _back(maps: NDArray[Any], geometry: Geometry) -> NDArray[Any]:
    """Maps ``(..., *space)`` on the grid of the picture, where that was resized."""
    return resize(maps, geometry.shape) if maps.shape[-len(geometry.shape) :] != geometry.shape else maps


def _shown(pictures: list[Picture]) -> Any:
    """One picture after the other, with a bar where somebody looks on."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    if not console.is_terminal:
        return pictures
    return track(pictures, "pictures", console=console, transient=True)
