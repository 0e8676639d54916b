"""The catalogue of stand-ins: each is quick, small, the same again, and another with another seed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pytest

from truelabel.experiments.material import load_material
from truelabel.experiments.stand_ins import STAND_INS, write_stand_in


def digest(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.mark.parametrize("name", STAND_INS)
def test_small_and_repeatable(name: str, tmp_path: Path) -> None:
    write_stand_in(name, tmp_path / "once")
    write_stand_in(name, tmp_path / "again")
    assert digest(tmp_path / "once") == digest(tmp_path / "again")
    write_stand_in(name, tmp_path / "other", seed=1)
    assert digest(tmp_path / "other") != digest(tmp_path / "once")
    assert sum(path.stat().st_size for path in (tmp_path / "once").rglob("*")) < 20_000_000


@pytest.mark.parametrize("name", STAND_INS)
@pytest.mark.parametrize("examples", [10, 150])
def test_other_sizes_are_read_too(name: str, examples: int, tmp_path: Path) -> None:
    write_stand_in(name, tmp_path, examples=examples)
    material = load_material(name, root=tmp_path, train=16, test=4, **STAND_INS[name].options)
    assert len(material.train) >= 4
    assert len(material.test) >= 4


def test_what_is_unknown_or_too_small_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="stand-in 'imagenet' is unknown: choose from mnist, fashion-mnist"):
        write_stand_in("imagenet", tmp_path)
    with pytest.raises(ValueError, match="examples must be a whole number of at least 10, got 3"):
        write_stand_in("mnist", tmp_path, examples=3)
    assert list(tmp_path.iterdir()) == []


def test_all_fit_under_one_root(tmp_path: Path) -> None:
    for name in STAND_INS:
        write_stand_in(name, tmp_path / "all")
        write_stand_in(name, tmp_path / name)
    for name, stand_in in STAND_INS.items():
        shared, alone = (load_material(name, root=tmp_path / place, **stand_in.options) for place in ("all", name))
        np.testing.assert_array_equal(shared.train.inputs, alone.train.inputs)
        np.testing.assert_array_equal(shared.test.labels, alone.test.labels)
