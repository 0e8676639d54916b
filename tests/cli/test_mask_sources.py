"""Which files are masks, and which are labels."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from truelabel.cli.mask_reading import MaskReading
from truelabel.cli.mask_sources import are_masks, find_masks


def test_what_is_taken_for_masks(cells: Path, shelf: Path) -> None:
    ann, bob = cells / "ann" / "p0.png", cells / "bob" / "p0.png"
    assert are_masks([cells])
    assert are_masks([ann, bob])
    assert are_masks([ann])
    assert are_masks([shelf / "masks.npy"])
    # Matrices that stand side by side are masks of one image; alone they are labels.
    assert are_masks([shelf / "labels.npy", shelf / "labels.npy"])
    for name in (
        "labels.npy",
        "vector.npy",
        "labels.csv",
        "labels.parquet",
        "labels.xlsx",
        "none.csv",
        "none-such.npy",
    ):
        assert not are_masks([shelf / name])


def test_mixtures_are_refused(cells: Path, shelf: Path) -> None:
    ann = cells / "ann" / "p0.png"
    for other, message in (
        (cells, "is a folder beside other files: name one folder, or the mask files themselves"),
        (shelf / "labels.csv", "is a table beside other files: fuse one table, or mask files only"),
        (shelf / "labels.xlsx", "is no mask that can be read: pass .bmp, .gif"),
    ):
        with pytest.raises(ValueError, match=re.escape(f"{other} {message}")):
            are_masks([ann, other])


def test_what_does_not_go_together(cells: Path) -> None:
    ann = cells / "ann" / "p0.png"
    with pytest.raises(ValueError, match="p0.png is the mask of one reader: name those of several, or a folder"):
        find_masks([ann], MaskReading())
    with pytest.raises(ValueError, match="--layout is for a folder of masks, but .* is a file: leave it out"):
        find_masks([ann, ann], MaskReading(layout="suffixes"))


def test_a_source_says_what_it_holds(cells: Path, tmp_path: Path) -> None:
    assert f"{find_masks([cells], MaskReading())}" == "22 masks of 8 images by 3 readers, 2 classes: 0, 1"
    np.save(tmp_path / "one.npy", np.zeros((1, 4, 4), np.int64))
    assert f"{find_masks([tmp_path / 'one.npy'], MaskReading())}" == "1 mask of 1 image by 1 reader, 1 class: 0"
