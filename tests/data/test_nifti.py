from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from truelabel.data import Geometry, read_mask, read_picture, write_mask
from truelabel.data import geometry as limits
from truelabel.data.nifti import load_nifti, nifti_bytes

AFFINE = np.array([[-0.9, 0, 0.1, 50], [0, 1.2, 0, -60], [0.1, 0, 2.4, 7], [0, 0, 0, 1.0]])
SPACING = tuple(np.linalg.norm(AFFINE[:3, :3], axis=0))


def save(path: Path, values: Any, affine: Any = AFFINE) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(values, affine), path)
    return path


@pytest.mark.parametrize("name", ["scan.nii", "scan.nii.gz", "SCAN.NII.GZ"])
def test_axes_and_place_are_those_of_the_file(tmp_path: Path, name: str) -> None:
    stored = np.random.default_rng(0).normal(size=(4, 5, 6)).astype(np.float32)
    values, geometry = read_picture(save(tmp_path / name, stored))
    np.testing.assert_array_equal(values, stored[None])
    assert values.dtype == np.float32
    assert geometry.shape == (4, 5, 6)
    np.testing.assert_allclose(geometry.spacing, SPACING, rtol=1e-6)
    assert geometry.affine is not None
    np.testing.assert_allclose(geometry.affine, AFFINE, rtol=1e-6)


def test_a_fourth_axis_is_channels(tmp_path: Path) -> None:
    stored = np.arange(2 * 3 * 4 * 2, dtype=np.int16).reshape(2, 3, 4, 2)
    values, geometry = read_picture(save(tmp_path / "four.nii", stored))
    assert geometry.shape == (2, 3, 4)
    np.testing.assert_array_equal(values[1], stored[..., 1])
    values, geometry = read_picture(save(tmp_path / "one.nii", stored[..., :1]))
    assert values.shape == (1, 2, 3, 4)
    with pytest.raises(ValueError, match="has colours or channels"):
        read_mask(tmp_path / "four.nii")


def test_two_axes_and_too_many(tmp_path: Path) -> None:
    values, geometry = read_picture(save(tmp_path / "flat.nii", np.zeros((4, 5), np.uint8)))
    assert values.shape == (1, 4, 5)
    assert len(geometry.spacing) == 2
    with pytest.raises(ValueError, match=r"deep.nii cannot be read \(it has 5 axes"):
        read_picture(save(tmp_path / "deep.nii", np.zeros((2, 2, 2, 2, 2), np.uint8)))


def test_colour_voxels_are_refused(tmp_path: Path) -> None:
    colours = np.zeros((2, 2, 2), [("R", "u1"), ("G", "u1"), ("B", "u1")])
    with pytest.raises(ValueError, match="not plain numbers"):
        read_picture(save(tmp_path / "colour.nii", colours))


def test_other_tools_find_a_written_mask_where_the_scan_is(tmp_path: Path) -> None:
    itk = pytest.importorskip("SimpleITK")
    rotation = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = rotation @ np.diag([0.9, 1.2, 2.4]), (50, -60, 7)
    scan = save(tmp_path / "scan.nii.gz", np.zeros((4, 5, 6), np.float32), affine)
    mask = np.random.default_rng(0).integers(0, 3, (4, 5, 6))
    write_mask(tmp_path / "mask.nii.gz", mask, read_picture(scan)[1])
    there, here = itk.ReadImage(str(scan)), itk.ReadImage(str(tmp_path / "mask.nii.gz"))
    for ask in ("GetSpacing", "GetOrigin", "GetDirection", "GetSize"):
        np.testing.assert_allclose(getattr(here, ask)(), getattr(there, ask)(), atol=1e-5)
    np.testing.assert_array_equal(itk.GetArrayFromImage(here), mask.transpose(2, 1, 0))
    written: Any = nibabel.load(tmp_path / "mask.nii.gz")
    np.testing.assert_allclose(written.affine, affine, atol=1e-5)


def test_spacing_is_written_without_affine_and_bytes_are_certain(tmp_path: Path) -> None:
    geometry = Geometry((2, 3), (0.5, 0.25))
    content = nifti_bytes(tmp_path / "a.nii.gz", np.zeros((2, 3), np.uint8), geometry)
    assert content == nifti_bytes(tmp_path / "a.nii.gz", np.zeros((2, 3), np.uint8), geometry)
    (tmp_path / "a.nii").write_bytes(gzip.decompress(content))
    assert load_nifti(tmp_path / "a.nii")[1].spacing == (0.5, 0.25)


def test_without_nibabel_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = save(tmp_path / "scan.nii", np.zeros((2, 2, 2), np.uint8))
    monkeypatch.setitem(sys.modules, "nibabel", None)
    for attempt in (lambda: read_picture(path), lambda: write_mask(path, np.zeros((2, 2, 2), int))):
        with pytest.raises(ImportError, match=r"scan.nii needs nibabel: pip install 'truelabel\[medical\]'$"):
            attempt()
    np.save(tmp_path / "scan.npy", np.zeros((2, 2)))
    read_picture(tmp_path / "scan.npy")


def test_damage_and_absurd_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = save(tmp_path / "whole.nii.gz", np.arange(4000, dtype=np.int32).reshape(10, 20, 20))
    (tmp_path / "cut.nii.gz").write_bytes(whole.read_bytes()[:-900])
    (tmp_path / "cut.nii").write_bytes(gzip.decompress(whole.read_bytes())[:-900])
    (tmp_path / "text.nii").write_text("no volume")
    (tmp_path / "empty.nii.gz").touch()
    for name in ("cut.nii.gz", "cut.nii", "text.nii", "empty.nii.gz"):
        with pytest.raises(ValueError, match=name) as caught:
            read_picture(tmp_path / name)
        assert "\n" not in str(caught.value)
    monkeypatch.setattr(limits, "MOST_VOXELS", 3999)
    with pytest.raises(ValueError, match=r"whole.nii.gz is absurdly large \(10 x 20 x 20\)"):
        read_picture(whole)
