"""Masks in files of one image, or in a folder of many."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from truelabel.cli.mask_files import mask_ending
from truelabel.cli.mask_sources import MaskImage, MaskSource
from truelabel.data import Geometry
from truelabel.data.cases import Case, CaseReader, Example, collect, read_cases
from truelabel.data.folder import existing_folder
from truelabel.data.mask_classes import named_values, void_values
from truelabel.data.mask_layouts import find_cases
from truelabel.data.rasters import ending

if TYPE_CHECKING:
    from truelabel.cli.mask_reading import MaskReading


def masks_of_folder(folder: Path, reading: MaskReading) -> MaskSource:
    """All masks in a folder, in any layout of :func:`truelabel.data.mask_folder`."""
    roles = reading.roles(with_pictures=False)
    cases, readers = find_cases(existing_folder(folder), reading.layout, roles, reading.pattern)
    return _from_cases([case._replace(pictures=()) for case in cases], readers, reading, f"{folder}")


def masks_of_files(paths: Sequence[Path], reading: MaskReading) -> MaskSource:
    """Masks of one image, a file for each reader."""
    image, names = image_and_readers(paths)
    readers = list(reading.readers or names)
    absent = next((name for name in readers if name not in names), None)
    if absent is not None:
        raise ValueError(f"--readers names {absent!r}, but the files are by {', '.join(names)}")
    masks = dict(zip(names, paths, strict=True))
    return _from_cases([Case(image, (), {name: masks[name] for name in readers})], readers, reading, "the files named")


def image_and_readers(paths: Sequence[Path]) -> tuple[str, list[str]]:
    """What the image is called, and the readers, from the files of their masks.

    Files of one name are called after the image, and their folders after the readers. Otherwise files are called
    after the reader, and, up to the last ``_`` before which all are alike, after the image.

    Example:
        >>> image_and_readers([Path("ann/p1.png"), Path("bob/p1.png")])
        ('p1', ['ann', 'bob'])
        >>> image_and_readers([Path("p1_ann.nii.gz"), Path("p1_bob.nii")])
        ('p1', ['ann', 'bob'])
        >>> image_and_readers([Path("reader1.png"), Path("reader2.png")])
        ('image', ['reader1', 'reader2'])
    """
    stems = [path.name[: -len(ending(path))] for path in paths]
    if len(set(stems)) == 1:
        image, readers = stems[0], [path.resolve().parent.name for path in paths]
    else:
        words = [stem.split("_") for stem in stems]
        shared = len(list(takewhile(lambda column: len(set(column)) == 1, zip(*words, strict=False))))
        shared = shared if shared < min(map(len, words)) else 0
        image, readers = "_".join(words[0][:shared]) or "image", ["_".join(own[shared:]) for own in words]
    seen: dict[str, Path] = {}
    for path, reader in zip(paths, readers, strict=True):
        if seen.setdefault(reader, path) is not path:
            raise ValueError(f"{seen[reader]} and {path} are both by reader {reader!r}: name each reader's file once")
    return image, readers


def _from_cases(cases: list[Case], readers: list[str], reading: MaskReading, where: str) -> MaskSource:
    known = named_values(reading.classes)
    glance = _Glance(CaseReader(known, void_values(reading.void)))
    drawn = [case for case in cases if case.masks]
    names, most = [case.name for case in drawn], sum(len(case.masks) for case in drawn)
    seen = collect(map(glance, drawn), names, readers, most, glance.read).annotations
    if not seen.size:
        raise ValueError(f"there are no labels in the masks of {where}")
    kept = [(case, end) for case, end, n in zip(drawn, glance.endings, seen.counts, strict=True) if n]
    present = tuple(name for name, n in zip(readers, seen.workload, strict=True) if n)
    classes = seen.classes
    values = tuple(int(value) for value in (classes if known is None else known))
    named = dict(zip(values, classes, strict=True))

    def images() -> Iterator[MaskImage]:
        for case, end in kept:
            data = read_cases([case], present, classes=named, void=reading.void)
            yield MaskImage(case.name, data.annotations, data.geometry[0], end)

    left_out = {"image": len(cases) - len(kept), "reader": len(readers) - len(present)}
    return MaskSource(images, len(kept), seen.size, present, classes, values, left_out, glance.digest.hexdigest()[:16])


class _Glance:
    """Reads a case and keeps one pixel of each mask beside the values in it, all that the classes follow from."""

    def __init__(self, read: CaseReader) -> None:
        self.read, self.endings, self.digest = read, list[str](), hashlib.sha256()

    def __call__(self, case: Case) -> Example:
        example = self.read(case)
        place = example.geometry.affine
        self.digest.update(f"{case.name}\0{example.geometry.shape}".encode() + (b"" if place is None else place.data))
        for reader, mask in sorted(example.masks.items()):
            self.digest.update(reader.encode() + b"\0" + mask.values.astype("<i4").tobytes())
        self.endings.append(mask_ending(example.source, example.geometry))
        masks = {reader: mask._replace(values=mask.values.ravel()[:1]) for reader, mask in example.masks.items()}
        return example._replace(masks=masks, geometry=Geometry((1,)))
