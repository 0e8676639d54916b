from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.data import brats2019, lidc, mslsc
from truelabel.experiments.stand_ins.volumes import write_brats2019, write_lidc, write_ms_lesions


def test_lesions_are_light_where_they_should_be(tmp_path: Path) -> None:
    write_ms_lesions(tmp_path, 6, np.random.default_rng(0))
    data = mslsc(tmp_path)
    assert data.names.tolist() == [f"training0{patient}_0{visit}" for patient in (1, 2, 3) for visit in (1, 2)]
    assert data.images is not None
    drawn = data.annotations.matrix()
    first, second = drawn[:, 0] == 1, drawn[:, 1] == 1
    assert first.any((1, 2, 3)).all()
    assert not (second & ~first).any()
    assert 0.3 < second.sum() / first.sum() < 0.95
    for channel, lighter in enumerate((True, False, True, True)):
        values = data.images[:, channel]
        assert (values[first].mean() > values[~first].mean() + 1) == lighter


def test_tumours_have_all_parts_in_every_slice_asked_for(tmp_path: Path) -> None:
    write_brats2019(tmp_path, 64, np.random.default_rng(0))
    data = brats2019(tmp_path, crop=(48, 48))
    assert len(data) == 12 * 8
    assert data.images is not None
    labels = data.annotations.label
    assert set(np.unique(labels)) == {0, 1, 2, 3}
    enhanced = data.images[:, 2]
    assert enhanced[labels == 3].mean() > enhanced[labels == 2].mean() + 0.5


def test_readers_of_nodules_differ(tmp_path: Path) -> None:
    write_lidc(tmp_path, 24, np.random.default_rng(0))
    sizes = [len(lidc(part, tmp_path)) for part in ("train", "val", "test")]
    assert sizes == [24, 4, 12]
    data = lidc("train", tmp_path)
    drawn = data.annotations.matrix()
    area = np.array([drawn[:, reader][drawn[:, reader].any((1, 2))].sum((1, 2)).mean() for reader in range(4)])
    assert area.argmax() == 1
    assert area.argmin() == 2
    missed = (drawn.sum((2, 3)) == 0).mean()
    assert 0.03 < missed < 0.3
    assert data.images is not None
    pixels = data.images[:, 0]
    assert pixels[drawn[:, 2] == 1].mean() == pytest.approx(170, abs=5)
