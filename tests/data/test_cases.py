from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from truelabel.data import write_mask
from truelabel.data.cases import Case, CaseReader, read_cases
from truelabel.data.preparation import Preparation

RNG = np.random.default_rng(0)


def mask(path: Path, values: Any) -> Path:
    write_mask(path, np.asarray(values))
    return path


def picture(path: Path, values: Any) -> Path:
    np.save(path, np.asarray(values))
    return path


def volume(path: Path, values: Any, shift: float = 0) -> Path:
    affine = np.diag([2.0, 1, 1, 1])
    affine[0, 3] = shift
    nibabel.save(nibabel.Nifti1Image(values, affine), path)
    return path


def two_by_two(tmp_path: Path, **masks: Any) -> list[Case]:
    """One case for every mask, by one reader."""
    return [Case(name, (), {"ann": mask(tmp_path / f"{name}.npy", values)}) for name, values in masks.items()]


def test_images_and_masks_lie_side_by_side(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, (2, 4, 6), np.uint8)
    masks = RNG.integers(0, 3, (3, 4, 6))
    cases = [
        Case(
            "x",
            (picture(tmp_path / "x.npy", images[0]),),
            {"bob": mask(tmp_path / "xb.png", masks[0]), "ann": mask(tmp_path / "xa.npy", masks[1])},
        ),
        Case("y", (picture(tmp_path / "y.npy", images[1]),), {"bob": mask(tmp_path / "yb.tif", masks[2])}),
    ]
    data = read_cases(cases, ["ann", "bob"])
    np.testing.assert_array_equal(data.images, images[:, None])
    expected = np.full((2, 2, 4, 6), -1)
    expected[0, 1], expected[0, 0], expected[1, 1] = masks
    np.testing.assert_array_equal(data.annotations.matrix(), expected)
    assert data.annotations.label.dtype == np.int16
    assert (data.names.tolist(), data.readers.tolist(), data.classes) == (["x", "y"], ["ann", "bob"], (0, 1, 2))


def test_channels_are_put_together(tmp_path: Path) -> None:
    scans = RNG.normal(size=(2, 3, 4, 5)).astype(np.float32)
    paths = tuple(volume(tmp_path / f"{i}.nii", scan) for i, scan in enumerate(scans))
    data = read_cases([Case("x", paths, {"ann": volume(tmp_path / "m.nii", np.zeros((3, 4, 5), np.uint8))})], ["ann"])
    np.testing.assert_array_equal(data.images, scans[None])


def test_a_stack_of_planes_is_channels_beside_a_flat_mask(tmp_path: Path) -> None:
    planes = RNG.integers(0, 9, (3, 4, 6), np.uint8)
    case = Case("x", (picture(tmp_path / "x.npy", planes),), {"ann": mask(tmp_path / "m.png", np.eye(4, 6))})
    np.testing.assert_array_equal(read_cases([case], ["ann"]).images, planes[None])


def test_values_become_classes_in_order(tmp_path: Path) -> None:
    cases = two_by_two(tmp_path, a=[[0, 4]], b=[[2, -1]], c=[[40_000, 0]])
    data = read_cases(cases, ["ann"])
    assert data.classes == (0, 2, 4, 40_000)
    assert data.annotations.label.tolist() == [[[0, 2]], [[1, -1]], [[3, 0]]]
    named = read_cases(cases, ["ann"], classes={4: "core", 0: "rest", 2: "oedema", 40_000: "far"})
    assert named.classes == ("core", "rest", "oedema", "far")
    assert named.annotations.label.tolist() == [[[1, 0]], [[2, -1]], [[3, 1]]]
    edge = read_cases(two_by_two(tmp_path, e=[[32_767, -1, 9]]), ["ann"])
    assert edge.annotations.label.tolist() == [[[1, -1, 0]]]
    atlas = read_cases(two_by_two(tmp_path, d=[[614_454_277, 0]]), ["ann"], classes=[614_454_277, 0])
    assert atlas.annotations.label.tolist() == [[[0, 1]]]
    with pytest.raises(ValueError, match=r"c.npy holds 40000, which is not among the classes"):
        read_cases(cases, ["ann"], classes=5)


def test_white_is_one_in_the_company_of_zero_and_one(tmp_path: Path) -> None:
    cases = two_by_two(tmp_path, a=[[0, 255]], b=[[0, 1]], c=[[0, 0]])
    for classes in (None, 2, ("no", "yes")):
        data = read_cases(cases, ["ann"], classes=classes)
        assert data.annotations.label.tolist() == [[[0, 1]], [[0, 1]], [[0, 0]]]
        assert data.classes == (classes if isinstance(classes, tuple) else (0, 1))
    assert read_cases(two_by_two(tmp_path, a=[[255, 255]]), ["ann"]).classes == (0, 1)


@pytest.mark.parametrize("other", [[[0, 2]], [[1, 255]]])
def test_nobody_guesses_what_255_means_beside_others(tmp_path: Path, other: Any) -> None:
    cases = two_by_two(tmp_path, a=[[0, 255]], b=other)
    with pytest.raises(ValueError, match=r"a.npy holds 255, and .*b.npy holds [12]: pass void=255 .* or classes="):
        read_cases(cases, ["ann"])
    assert read_cases(cases, ["ann"], void=255).annotations.label[0].tolist() == [[0, -1]]
    own = read_cases(cases, ["ann"], classes=[0, 1, 2, 255])
    assert own.annotations.label[0].tolist() == [[0, 3]]


def test_a_mask_without_any_label_was_not_given(tmp_path: Path) -> None:
    data = read_cases(two_by_two(tmp_path, a=[[0, 1]], b=[[-1, -1]]), ["ann"])
    assert data.annotations.counts.tolist() == [1, 0]
    nothing = read_cases(two_by_two(tmp_path, a=[[-1, -1]]), ["ann"], classes=2)
    assert nothing.annotations.label.shape == (0, 1, 2)


def test_sizes_channels_and_types_must_agree(tmp_path: Path) -> None:
    def case(name: str, values: Any) -> Case:
        return Case(name, (picture(tmp_path / f"{name}.npy", values),), {})

    plain = case("plain", np.zeros((4, 6), np.uint8))
    with pytest.raises(ValueError, match=r"wide.npy is 4 x 7 but .*plain.npy is 4 x 6: pass size= .* or crop="):
        read_cases([plain, case("wide", np.zeros((4, 7), np.uint8))], ["ann"])
    with pytest.raises(ValueError, match=r"deep.npy is float32 but .*plain.npy is uint8: .* normalise='all'"):
        read_cases([plain, case("deep", np.zeros((4, 6)))], ["ann"])
    data = read_cases([plain, case("deep", np.zeros((4, 6)))], ["ann"], preparation=Preparation(normalise="all"))
    assert data.images is not None
    assert data.images.dtype == np.float32
    some = case("some", np.zeros((2, 3, 4, 6), np.uint8))
    with pytest.raises(ValueError, match=r"one.npy has 1 channels but .*some.npy has 2"):
        read_cases([some, case("one", np.zeros((3, 4, 6), np.uint8))], ["ann"])


def test_files_of_one_case_must_share_a_grid(tmp_path: Path) -> None:
    zeros = np.zeros((3, 4, 5), np.uint8)
    scan, other = volume(tmp_path / "scan.nii", zeros), volume(tmp_path / "other.nii", zeros, shift=3)
    away = volume(tmp_path / "away.nii", zeros, shift=1)
    with pytest.raises(ValueError, match=r"away.nii lies elsewhere than .*scan.nii \(a corner is 1 mm off"):
        read_cases([Case("x", (scan,), {"ann": away})], ["ann"])
    with pytest.raises(ValueError, match=r"other.nii lies elsewhere than .*scan.nii"):
        read_cases([Case("x", (scan, other), {})], ["ann"])
    small = mask(tmp_path / "small.npy", np.zeros((3, 4, 4), int))
    with pytest.raises(ValueError, match=r"small.npy is 3 x 4 x 4 but .*scan.nii is 3 x 4 x 5"):
        read_cases([Case("x", (scan,), {"ann": small})], ["ann"])


def test_the_place_is_that_of_the_file_that_has_one(tmp_path: Path) -> None:
    zeros = np.zeros((3, 4, 5), np.uint8)
    scan, drawn = picture(tmp_path / "scan.npy", zeros), volume(tmp_path / "mask.nii", zeros)
    for case in (Case("x", (scan,), {"ann": drawn}), Case("x", (), {"ann": drawn})):
        example = CaseReader()(case)
        assert example.geometry.affine is not None
        assert example.geometry.spacing == (2, 1, 1)


def test_preparation_reaches_images_masks_and_grid(tmp_path: Path) -> None:
    scan = volume(tmp_path / "scan.nii", RNG.normal(size=(4, 8, 8)).astype(np.float32))
    drawn = volume(tmp_path / "mask.nii", np.ones((4, 8, 8), np.uint8))
    prepared = Preparation(normalise="all", spacing=(1, 1, 1), crop=(10, 4, 4))
    data = read_cases([Case("x", (scan,), {"ann": drawn})], ["ann"], classes=2, preparation=prepared)
    assert data.images is not None
    assert data.images.shape == (1, 1, 10, 4, 4)
    assert (data.annotations.label[0, [0, -1]] == -1).all()
    assert (data.annotations.label[0, 1:-1] == 1).all()
    assert data.geometry[0].spacing == (1, 1, 1)
