"""Masks in one array file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from truelabel import Annotations
from truelabel.cli.mask_sources import MaskImage, MaskSource
from truelabel.data import Geometry, load_array
from truelabel.data.mask_classes import named_values
from truelabel.data.masks import MOST_CLASSES
from truelabel.types import MISSING

if TYPE_CHECKING:
    from truelabel.cli.mask_reading import MaskReading


def masks_of_array(path: Path, reading: MaskReading) -> MaskSource:
    """Masks ``(R, H, W)`` of one picture, ``(N, R, H, W)`` of N, or ``(N, R, D, H, W)`` of N volumes."""
    stored = load_array(path)
    if stored.ndim > 5:
        raise ValueError(f"{path} has the shape {stored.shape}: masks are (R, H, W), (N, R, H, W) or (N, R, D, H, W)")
    masks = stored if stored.ndim > 3 else stored[None]
    if reading.void:
        wide = masks.astype(np.float64 if masks.dtype.kind == "f" else np.int64)
        masks = np.where(np.isin(masks, reading.void), MISSING, wide)
    count, columns = masks.shape[:2]
    readers = reading.readers or tuple(map(str, range(columns)))
    if len(readers) != columns:
        raise ValueError(f"--readers names {len(readers)}, but {path} has masks by {columns}: name each of them")
    known = named_values(reading.classes)
    names = [path.stem] if stored.ndim == 3 else [f"{n:0{len(str(count - 1))}}" for n in range(count)]
    drawn = Annotations.from_masks(
        masks, classes=None if known is None else list(known), annotators=readers, examples=names
    )
    if not drawn.size:
        raise ValueError(f"there are no labels in {path}")
    values = tuple(int(value) for value in drawn.classes)
    if min(values) < 0 or (known is None and len(values) > MOST_CLASSES):
        what = f"{min(values)}" if min(values) < 0 else f"{len(values)} different numbers"
        raise ValueError(f"{path} holds {what}, so it holds no masks: these are 0, 1, 2, …, and -1 for no label")
    if known is not None:
        drawn = replace(drawn, classes=tuple(known.values()))
    grid = Geometry(drawn.space)
    kept = drawn.labelled()

    def images() -> Iterator[MaskImage]:
        for row, name in enumerate(kept.examples):
            yield MaskImage(str(name), kept.take([row]), grid, ".npy")

    left_out = {"image": count - len(kept.examples), "reader": columns - len(kept.annotators)}
    told = (tuple(map(str, kept.annotators)), kept.classes, values, left_out, _digest(kept))
    return MaskSource(images, len(kept.examples), kept.size, *told)


def _digest(drawn: Annotations) -> str:
    digest = hashlib.sha256(f"{drawn.space} {drawn.annotators.tolist()}".encode())
    for codes in (drawn.example, drawn.annotator, drawn.label):
        digest.update(np.ascontiguousarray(codes, "<i4").data)
    return digest.hexdigest()[:16]
