from __future__ import annotations

from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from truelabel.data import MissingDataError, brats2019, lidc, mslsc

RNG = np.random.default_rng(0)
Volume = npt.NDArray[Any]


def volume(path: Path, values: Volume) -> Volume:
    path.parent.mkdir(parents=True, exist_ok=True)
    nibabel.save(nibabel.Nifti1Image(values, np.diag([1.0, 1.0, 2.0, 1.0])), path)
    return values


def scan(path: Path, shape: tuple[int, ...]) -> Volume:
    """A scan with nothing in its outer planes, as without the skull."""
    values = RNG.normal(100, 20, shape).astype(np.float32)
    values[0] = values[-1] = 0
    return volume(path, values)


def normal(values: Volume) -> Volume:
    brain = values[values != 0].astype(np.float64)
    result: Volume = np.where(values != 0, (values - brain.mean()) / brain.std(), 0)
    return result


@pytest.fixture
def ms_lesions(tmp_path: Path) -> tuple[Path, dict[str, Volume]]:
    kept = {}
    for visit in ("training01_01", "training01_02", "training02_01"):
        patient = tmp_path / "mslsc" / visit[:10]
        for channel in ("flair", "mprage", "pd", "t2"):
            zipped = ".gz" if visit == "training02_01" else ""
            name = f"{visit}_{channel}"
            kept[name] = scan(patient / "preprocessed" / f"{name}_pp.nii{zipped}", (6, 7, 5))
        for rater in (1, 2):
            name = f"{visit}_mask{rater}"
            kept[name] = volume(patient / "masks" / f"{name}.nii", RNG.integers(0, 2, (6, 7, 5)).astype(np.uint8))
    return tmp_path, kept


def test_ms_lesions(ms_lesions: tuple[Path, dict[str, Volume]]) -> None:
    root, kept = ms_lesions
    for where in (root, root / "mslsc"):
        data = mslsc(where)
        assert data.names.tolist() == ["training01_01", "training01_02", "training02_01"]
        assert data.readers.tolist() == ["rater1", "rater2"]
        assert data.classes == ("background", "lesion")
        assert data.images is not None
        assert data.images.shape == (3, 4, 6, 7, 5)
        np.testing.assert_allclose(data.images[2, 1], normal(kept["training02_01_mprage"]), atol=1e-5)
        np.testing.assert_array_equal(data.annotations.matrix()[1, 1], kept["training01_02_mask2"])
        assert data.geometry[0].spacing == (1, 1, 2)
    raw = mslsc(root, channels=("t2", "flair"), normalise=None, crop=(4, 4, 4))
    assert raw.images is not None
    assert raw.images.shape == (3, 2, 4, 4, 4)
    np.testing.assert_array_equal(raw.images[0, 1], kept["training01_01_flair"][1:5, 1:5, :4])


def test_ms_lesions_that_are_missing(ms_lesions: tuple[Path, dict[str, Volume]]) -> None:
    root, _ = ms_lesions
    (root / "mslsc/training01/masks/training01_02_mask2.nii").unlink()
    (root / "mslsc/training02/preprocessed/training02_01_pd_pp.nii.gz").unlink()
    with pytest.raises(MissingDataError) as caught:
        mslsc(root)
    for file in ("training01/masks/training01_02_mask2.nii", "training02/preprocessed/training02_01_pd_pp.nii"):
        assert file in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.fixture
def tumours(tmp_path: Path) -> tuple[Path, dict[str, Volume]]:
    kept = {}
    for case, grade in (("BraTS19_A_1", "HGG"), ("BraTS19_B_1", "HGG"), ("BraTS19_C_1", "LGG")):
        folder = tmp_path / grade / case
        for channel in ("flair", "t1", "t1ce", "t2"):
            kept[f"{case}_{channel}"] = scan(folder / f"{case}_{channel}.nii.gz", (200, 198, 6))
        mask = np.zeros((200, 198, 6), np.uint8)
        mask[90:110, 90:110, 1:5] = RNG.choice([0, 1, 2, 4], (20, 20, 4))
        kept[f"{case}_seg"] = volume(folder / f"{case}_seg.nii.gz", mask)
    return tmp_path, kept


def test_tumours_slice_by_slice(tumours: tuple[Path, dict[str, Volume]]) -> None:
    root, kept = tumours
    data = brats2019(root)
    assert data.names.tolist() == [f"BraTS19_{case}_1/00{level}" for case in "AB" for level in (1, 2, 3, 4)]
    assert data.images is not None
    assert data.images.shape == (8, 4, 192, 192)
    assert data.classes == ("background", "core", "oedema", "enhancing")
    assert data.readers.tolist() == ["truth"]
    expected = normal(kept["BraTS19_B_1_t1ce"])[4:196, 3:195, 3]
    np.testing.assert_allclose(data.images[6, 2], expected, atol=1e-5)
    seg = kept["BraTS19_B_1_seg"][4:196, 3:195, 3]
    np.testing.assert_array_equal(data.annotations.label[6], np.where(seg == 4, 3, seg))
    assert data.geometry[0].shape == (192, 192)


def test_which_slices_and_cases(tumours: tuple[Path, dict[str, Volume]]) -> None:
    root, kept = tumours
    everything = brats2019(root, grades=("HGG", "LGG"), slices="all", crop=(8, 8), channels=("t1",))
    assert len(everything) == 18
    some = brats2019(root, slices=2, crop=(8, 8), channels=("t1",), cases=["BraTS19_B_1"])
    assert some.names.tolist() == ["BraTS19_B_1/001", "BraTS19_B_1/003"]
    assert len(brats2019(root, slices=9, crop=(8, 8), channels=("t1",))) == 8
    volumes = brats2019(root, slices=None, channels=("t1",), normalise=None)
    assert volumes.images is not None
    assert volumes.images.shape == (2, 1, 200, 198, 6)
    np.testing.assert_array_equal(volumes.images[0, 0], kept["BraTS19_A_1_t1"])
    assert volumes.geometry[0].affine is not None
    for wrong in (0, "some"):
        with pytest.raises(ValueError, match=f"slices {wrong!r} is unknown"):
            brats2019(root, slices=wrong)  # type: ignore[arg-type]


def test_tumours_that_are_missing(tumours: tuple[Path, dict[str, Volume]]) -> None:
    root, _ = tumours
    with pytest.raises(MissingDataError, match="expected HGG/BraTS19_X_1/"):
        brats2019(root, cases=["BraTS19_A_1", "BraTS19_X_1"])
    (root / "HGG/BraTS19_A_1/BraTS19_A_1_t2.nii.gz").unlink()
    with pytest.raises(MissingDataError, match="expected HGG/BraTS19_A_1/BraTS19_A_1_t2.nii; "):
        brats2019(root)
    for case in ("A", "B"):
        volume(root / f"HGG/BraTS19_{case}_1/BraTS19_{case}_1_seg.nii.gz", np.zeros((200, 198, 6), np.uint8))
    with pytest.raises(ValueError, match="no case in .* shows tumour: pass slices='all'"):
        brats2019(root, channels=("t1",))


def test_a_value_that_is_no_class_of_tumour(tumours: tuple[Path, dict[str, Volume]]) -> None:
    root, _ = tumours
    volume(root / "HGG/BraTS19_A_1/BraTS19_A_1_seg.nii.gz", np.full((200, 198, 6), 3, np.uint8))
    with pytest.raises(ValueError, match="holds 3, which is not among the classes"):
        brats2019(root)


@pytest.mark.parametrize("split", ["train", None])
def test_lung_nodules(tmp_path: Path, split: str | None) -> None:
    top = tmp_path / "lidc_crops" / (split or ".")
    images, masks = {}, {}
    for name in ("LIDC-IDRI-0001/z-105.0_c0", "LIDC-IDRI-0001/z-107.5_c0", "LIDC-IDRI-0002/z15.0_c1"):
        for part in ("images", "gt"):
            (top / part / name).parent.mkdir(parents=True, exist_ok=True)
        images[name] = RNG.integers(0, 256, (180, 180), np.uint8)
        Image.fromarray(images[name]).save(top / "images" / f"{name}.png")
        for reader in range(4):
            drawn = RNG.integers(0, 2, (180, 180)) * (reader != 3)
            masks[name, reader] = drawn
            Image.fromarray((drawn * 255).astype(np.uint8)).save(top / "gt" / f"{name}_l{reader}.png")
    data = lidc(split, tmp_path)
    assert data.names.tolist() == list(images)
    assert data.readers.tolist() == ["l0", "l1", "l2", "l3"]
    assert data.classes == ("background", "nodule")
    assert data.images is not None
    assert data.images.dtype == np.uint8
    np.testing.assert_array_equal(data.images[:, 0], list(images.values()))
    dense = data.annotations.matrix()
    for row, name in enumerate(images):
        for reader in range(4):
            np.testing.assert_array_equal(dense[row, reader], masks[name, reader])
    (top / "gt" / "LIDC-IDRI-0002" / "z15.0_c1_l2.png").unlink()
    with pytest.raises(MissingDataError, match=r"lidc is not in .*: expected .*gt/LIDC-IDRI-0002/z15.0_c1_l2.png"):
        lidc(split, tmp_path)
