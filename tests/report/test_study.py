"""Images and masks of a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.data import discs, mask_folder
from truelabel.report import read_run
from truelabel.report.study import Study


def test_scans_are_what_the_training_saw(masks_trained: Path) -> None:
    study = Study.open(read_run(masks_trained))
    assert study.names == [f"p{n}" for n in range(8)]
    read = mask_folder(masks_trained.parent / "study")
    assert read.images is not None
    scan = study.scan("p3")
    np.testing.assert_array_equal(scan.image, read.images[3])
    np.testing.assert_array_equal(scan.masks["ann"], discs(8, (20, 20), seed=0).labels[3])
    assert set(scan.masks) == {"ann", "bob"}
    expected = study.segmenter.predict(scan.image[None])[0]
    np.testing.assert_array_equal(study.segmenter.classes_[study.believed(scan.image)], expected)
    with pytest.raises(LookupError):
        study.scan("../../etc/passwd")


def test_white_masks_are_ones(masks_run: Path, tmp_path: Path) -> None:
    folder = tmp_path / "white"
    for part in ("images", "ann", "bob"):
        (folder / part).mkdir(parents=True)
        Image.new("L", (20, 20), 255).save(folder / part / "p0.png")
    source = json.loads((masks_run / "source.json").read_text())
    (masks_run / "source.json").write_text(json.dumps({**source, "data": str(folder)}))
    assert Study.open(read_run(masks_run)).scan("p0").masks["bob"].tolist() == [[1] * 20] * 20


def test_a_study_that_moved_is_one_line(masks_run: Path) -> None:
    source = json.loads((masks_run / "source.json").read_text())
    for data in (str(masks_run / "gone"), None):
        (masks_run / "source.json").write_text(json.dumps({**source, "data": data}))
        with pytest.raises(ValueError, match="not where source.json says"):
            Study.open(read_run(masks_run))
