from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from truelabel.data import brats2019, lidc, mslsc
from truelabel.experiments import segmentation_material
from truelabel.experiments.material import load_material
from truelabel.experiments.read_parts import split_cases
from truelabel.experiments.stand_ins import write_stand_in
from truelabel.experiments.stand_ins.volumes import write_ms_lesions
from truelabel.fusion import spatial_staple


def test_digits_with_and_without_noise(tmp_path: Path) -> None:
    write_stand_in("mnist-segmentation", tmp_path)
    clean = load_material("mnist-segmentation", root=tmp_path)
    noisy = load_material("mnist-segmentation", root=tmp_path, noise=0.3)
    assert clean.train.labels.shape == (96, 28, 28)
    np.testing.assert_array_equal(clean.train.labels, clean.train.inputs[:, 0] > 127)
    np.testing.assert_array_equal(clean.train.labels, noisy.train.labels)
    assert noisy.train.inputs.dtype == np.float32
    added = [np.sort((noisy_part.inputs[0] - part.scaled()[0]).ravel()) for noisy_part, part in (
        (noisy.train, clean.train), (noisy.test, clean.test))]  # fmt: skip
    assert np.abs(added[0]).max() > 0.5
    assert not np.array_equal(added[0], added[1])


def test_scans_of_lesions(tmp_path: Path) -> None:
    write_stand_in("ms-lesions", tmp_path, examples=21)
    scans = mslsc(tmp_path)
    material = load_material("ms-lesions", root=tmp_path)
    assert (material.train.inputs.shape, len(material.test)) == ((10, 4, 24, 24, 16), 11)
    assert material.given is None
    drawn = scans.annotations.matrix()
    np.testing.assert_array_equal(material.test.labels, drawn[10:, 0])
    second = load_material("ms-lesions", root=tmp_path, truth="rater2")
    np.testing.assert_array_equal(second.train.labels, drawn[:10, 1])
    small = load_material("ms-lesions", root=tmp_path, crop=(8, 8, 8), test=1)
    assert small.test.inputs.shape == (1, 4, 8, 8, 8)


def test_slices_of_lesions(tmp_path: Path) -> None:
    write_stand_in("ms-lesions", tmp_path)
    volumes = load_material("ms-lesions", root=tmp_path)
    everything = load_material("ms-lesions", root=tmp_path, slices="all")
    assert everything.train.inputs.shape == (4 * 16, 4, 24, 24)
    np.testing.assert_array_equal(everything.train.inputs[16 + 5], volumes.train.inputs[1, ..., 5])
    np.testing.assert_array_equal(everything.train.labels[16 + 5], volumes.train.labels[1, ..., 5])
    some = load_material("ms-lesions", root=tmp_path, slices="lesion")
    assert (some.train.labels == 1).any((1, 2)).all()
    assert (some.train.labels == 1).sum() == (volumes.train.labels == 1).sum()
    with pytest.raises(ValueError, match="slices 'some' is unknown: pass 'lesion'"):
        load_material("ms-lesions", root=tmp_path, slices="some")
    with pytest.raises(ValueError, match="truth 'rater3' is unknown"):
        load_material("ms-lesions", root=tmp_path, truth="rater3")


def test_one_scan_is_too_few(tmp_path: Path) -> None:
    write_ms_lesions(tmp_path, 1, np.random.default_rng(0))
    with pytest.raises(ValueError, match="ms_lesions has no examples to test on"):
        load_material("ms-lesions", root=tmp_path)


def test_slices_of_tumours_are_shared_out_by_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_stand_in("brats2019", tmp_path)
    material = load_material("brats2019", root=tmp_path, crop=(48, 48))
    assert material.train.inputs.shape == (80, 4, 48, 48)
    assert material.test.inputs.shape == (16, 4, 48, 48)
    assert material.train.classes == ("background", "core", "oedema", "enhancing")
    every = brats2019(tmp_path, crop=(48, 48))
    case_of = {read.tobytes(): str(name).split("/")[0] for read, name in zip(every.images, every.names, strict=True)}  # type: ignore[arg-type]
    trained, tested = ({case_of[image.tobytes()] for image in part.inputs} for part in (material.train, material.test))
    assert (len(trained), len(tested)) == (10, 2)
    assert not trained & tested
    monkeypatch.setattr(segmentation_material, "TUMOUR_SLICES", (32, 6, 10))
    capped = load_material("brats2019", root=tmp_path, crop=(48, 48), slices=8)
    assert (len(capped.train), len(capped.test)) == (38, 10)
    assert load_material("brats2019", root=tmp_path, train=1, test=1).train.inputs.shape == (1, 4, 192, 192)


def test_only_cases_that_are_needed_are_read(tmp_path: Path) -> None:
    write_stand_in("brats2019", tmp_path)
    names = sorted(path.name for path in tmp_path.glob("*/HGG/*"))
    kept = [split_cases(names, (1600, 300, 500))[part][0] for part in (0, 2)]
    for name in set(names) - set(kept):
        for scan in tmp_path.glob(f"*/HGG/{name}/*.nii"):
            scan.write_bytes(b"damaged")
    material = load_material("brats2019", root=tmp_path, crop=(48, 48), train=8, test=3)
    assert (len(material.train), len(material.test)) == (8, 3)
    with pytest.raises(ValueError, match="_seg.nii"):
        load_material("brats2019", root=tmp_path, crop=(48, 48), train=9, test=3)


def test_readers_of_nodules_and_their_consensus(tmp_path: Path) -> None:
    write_stand_in("lidc", tmp_path)
    material = load_material("lidc", root=tmp_path)
    assert material.train.inputs.shape == (24 + 4, 1, 48, 48)
    assert material.given is not None
    assert material.test_given is not None
    train, val, test = (lidc(part, tmp_path).annotations.matrix() for part in ("train", "val", "test"))
    np.testing.assert_array_equal(material.given.matrix(), np.concatenate([train, val]))
    np.testing.assert_array_equal(material.test_given.matrix(), test)
    for row in (0, 25):
        expected = spatial_staple(material.given.matrix()[row], classes=2).labels
        np.testing.assert_array_equal(material.train.labels[row], expected)
    assert load_material("lidc", root=tmp_path, train=25, crop=(32, 40)).train.labels.shape == (25, 32, 40)


def test_nodules_without_folders_of_parts_are_shared_out_by_patient(tmp_path: Path) -> None:
    write_stand_in("lidc", tmp_path)
    top = tmp_path / "lidc_crops"
    for part in ("train", "val", "test"):
        shutil.copytree(top / part, top, dirs_exist_ok=True)
        shutil.rmtree(top / part)
    material = load_material("lidc", root=tmp_path)
    assert material.given is not None
    assert material.test_given is not None
    trained, tested = (
        {str(name).split("/")[0] for name in said.examples} for said in (material.given, material.test_given)
    )
    assert (len(trained), len(tested)) == (17, 3)
    assert not trained & tested
    assert len(material.train) + len(material.test) == 24 + 4 + 12


@pytest.mark.parametrize(("name", "classes"), [("pascal-voc", 21), ("cityscapes", 19)])
def test_scenes(tmp_path: Path, name: str, classes: int) -> None:
    write_stand_in(name, tmp_path)
    material = load_material(name, root=tmp_path, size=(24, 32))
    assert material.train.inputs.shape == (24, 3, 24, 32)
    assert material.test.labels.shape == (12, 24, 32)
    assert material.train.inputs.dtype == np.uint8
    assert len(material.train.classes) == classes
    assert set(np.unique(material.train.labels).tolist()) == set(range(-1, classes))
    assert material.given is None
