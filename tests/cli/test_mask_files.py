"""Masks and maps to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.cli.mask_files import mask_ending, safe_name, save_map, save_mask, save_probabilities
from truelabel.data import Geometry, read_mask, read_picture

FLAT, DEEP, PLACED = Geometry((2, 3)), Geometry((2, 3, 4)), Geometry((2, 3, 4), (1, 1, 2), np.diag([1.0, 1, 2, 1]))


@pytest.mark.parametrize(
    ("file", "geometry", "ending"),
    [
        ("a.png", FLAT, ".png"),
        ("a.jpg", FLAT, ".png"),
        ("a.TIF", FLAT, ".tif"),
        ("a.npy", DEEP, ".npy"),
        ("a.gif", DEEP, ".tif"),
        ("a.nii", PLACED, ".nii"),
        ("b.c.nii.gz", PLACED, ".nii.gz"),
        ("a.npy", PLACED, ".nii.gz"),
    ],
)
def test_endings(file: str, geometry: Geometry, ending: str) -> None:
    assert mask_ending(Path(file), geometry) == ending


@pytest.mark.parametrize("ending", [".png", ".tif", ".npy"])
def test_class_numbers_come_back(ending: str, tmp_path: Path) -> None:
    mask, path = np.array([[0, 1, 2], [2, 1, 0]]), tmp_path / "new" / f"mask{ending}"
    save_mask(path, mask, (0, 4, 7), FLAT, ())
    assert read_mask(path)[0].tolist() == [[0, 4, 7], [7, 4, 0]]


@pytest.mark.parametrize(
    ("ending", "values", "void", "stands"),
    [
        (".png", (0, 1), (), 255),
        (".png", (0, 255), (), 65535),
        (".png", (0, 1), (9, 255), 9),
        (".npy", (0, 1), (), -1),
        (".tif", (0, 1), (), -1),
        (".tif", (0, 1), (255,), 255),
    ],
)
def test_what_stands_for_no_label(
    ending: str, values: tuple[int, ...], void: tuple[int, ...], stands: int, tmp_path: Path
) -> None:
    path = tmp_path / f"mask{ending}"
    assert save_mask(path, np.array([[0, 1, -1], [1, 0, -1]]), values, FLAT, void) == stands
    read = read_mask(path, classes=[*values, *({stands} - {-1})])[0]
    assert read.tolist() == [[0, values[1], stands], [values[1], 0, stands]]


def test_probabilities_are_one_array_or_a_volume_for_each_class(tmp_path: Path) -> None:
    pytest.importorskip("nibabel")
    probs = np.random.default_rng(0).random((2, 2, 3, 4))
    save_probabilities(tmp_path / "deep" / "a.b", probs, (0, 4), PLACED, ".nii.gz")
    save_probabilities(tmp_path / "deep" / "a.b", probs, (0, 4), DEEP, ".tif")
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == ["a.b.npy", "a.b_0.nii.gz", "a.b_4.nii.gz"]
    assert np.array_equal(np.load(tmp_path / "deep" / "a.b.npy"), probs.astype(np.float32))
    values, geometry = read_picture(tmp_path / "deep" / "a.b_4.nii.gz")
    assert np.array_equal(values[0], probs[1].astype(np.float32))
    assert geometry.affine is not None
    assert np.array_equal(geometry.affine, np.diag([1.0, 1, 2, 1]))


def test_maps(tmp_path: Path) -> None:
    values = np.array([[0, 0.5, 1], [0.1, 0.2, 1.0000001]])
    save_map(tmp_path / "map.png", values, FLAT)
    with Image.open(tmp_path / "map.png") as image:
        assert image.mode == "L"
        assert np.asarray(image).tolist() == [[0, 128, 255], [26, 51, 255]]
    save_map(tmp_path / "map.tif", values, FLAT)
    assert np.array_equal(read_picture(tmp_path / "map.tif")[0][0], values.astype(np.float32))


@pytest.mark.parametrize(
    ("name", "safe"),
    [("ann", "ann"), (7, "7"), ("../../etc", "etc"), ("a/b\\c", "a_b_c"), ("..", "_"), ("Dr. Zoë", "Dr. Zoë")],
)
def test_names_lead_nowhere_else(name: object, safe: str) -> None:
    assert safe_name(name) == safe
