from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from truelabel.experiments import segmentation_material
from truelabel.experiments.kept import kept
from truelabel.experiments.material import load_material
from truelabel.experiments.stand_ins import write_stand_in
from truelabel.fusion import fuse_images


def test_an_array_is_worked_out_once_for_what_it_depends_on(tmp_path: Path) -> None:
    calls = []

    def compute() -> npt.NDArray[np.float64]:
        calls.append(1)
        return np.arange(4.0)

    ones = np.ones(3, np.int16)
    for of in ((ones,), (ones,), (ones.astype(np.int32),), (ones, ones), (ones.reshape(3, 1),), (ones,)):
        np.testing.assert_array_equal(kept(tmp_path / "deep", of, compute), np.arange(4.0))
    assert len(calls) == 4
    kept(None, (ones,), compute)
    assert len(calls) == 5


def test_the_consensus_on_lung_nodules_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counted(*given: Any, **more: Any) -> Any:
        calls.append(1)
        return fuse_images(*given, **more)

    monkeypatch.setattr(segmentation_material, "fuse_images", counted)
    write_stand_in("lidc", tmp_path)
    first, again = (load_material("lidc", root=tmp_path, train=4, test=3, keep=tmp_path / "kept") for _ in range(2))
    assert len(calls) == 2, "of those to train and of those to test on"
    np.testing.assert_array_equal(first.train.labels, again.train.labels)
    np.testing.assert_array_equal(first.test.labels, again.test.labels)
    np.testing.assert_array_equal(load_material("lidc", root=tmp_path, train=4, test=3).test.labels, first.test.labels)


def test_where_it_is_kept_is_no_option_of_a_setting() -> None:
    with pytest.raises(ValueError, match="option 'quep' of lidc is unknown: it takes crop"):
        load_material("lidc", quep=1)
