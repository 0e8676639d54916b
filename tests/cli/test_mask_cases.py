"""Masks in files and folders, one image at a time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.cli.mask_cases import image_and_readers, masks_of_files, masks_of_folder
from truelabel.cli.mask_reading import MaskReading
from truelabel.data import mask_folder, write_mask

READERS = ["ann", "bob", "cid"]


@pytest.mark.parametrize(
    ("files", "image", "readers"),
    [
        ("ann/p1.png bob/p1.tif", "p1", ["ann", "bob"]),
        ("p1_ann.png p1_bob.png", "p1", ["ann", "bob"]),
        ("x/scan_01_dr_a.nii.gz y/scan_01_dr_b.nii", "scan_01_dr", ["a", "b"]),
        ("reader1.png reader2.png", "image", ["reader1", "reader2"]),
        ("a.png a_b.png", "image", ["a", "a_b"]),
    ],
)
def test_names_of_files(files: str, image: str, readers: list[str]) -> None:
    assert image_and_readers([Path(name) for name in files.split()]) == (image, readers)


def test_one_reader_has_one_file() -> None:
    with pytest.raises(ValueError, match="a/ann.png and b/ann.png are both by reader 'ann': name each"):
        image_and_readers([Path("a/ann.png"), Path("b/ann.png"), Path("bob.png")])


def test_a_folder_is_read_as_the_library_reads_it(cells: Path) -> None:
    source, data = masks_of_folder(cells, MaskReading()), mask_folder(cells)
    assert (source.count, source.masks, source.readers) == (8, 22, tuple(READERS))
    assert (source.classes, source.values, source.left_out) == ((0, 1), (0, 1), {"image": 0, "reader": 0})
    images = list(source.images())
    assert [image.name for image in images] == data.names.tolist()
    assert {image.ending for image in images} == {".png"}
    matrix = data.annotations.matrix()
    for n, image in enumerate(images):
        assert image.masks.annotators.tolist() == READERS
        assert np.array_equal(image.masks.matrix()[0], matrix[n])


def test_images_may_have_sizes_of_their_own_and_classes_are_those_of_all(tmp_path: Path) -> None:
    write_mask(tmp_path / "a" / "ann.png", np.array([[0, 1]]))
    write_mask(tmp_path / "a" / "bob.png", np.array([[1, 1]]))
    write_mask(tmp_path / "b" / "ann.png", np.array([[0], [4], [0]]))
    source = masks_of_folder(tmp_path, MaskReading(layout="case-folders"))
    assert (source.classes, source.values) == ((0, 1, 4), (0, 1, 4))
    assert [image.masks.space for image in source.images()] == [(1, 2), (3, 1)]
    assert next(reversed(list(source.images()))).masks.label.ravel().tolist() == [0, 2, 0]
    named = masks_of_folder(tmp_path, MaskReading(layout="case-folders", classes={0: "none", 4: "cell", 1: "rest"}))
    assert (named.classes, named.values) == (("none", "cell", "rest"), (0, 4, 1))
    assert next(named.images()).masks.matrix()[0].ravel().tolist() == [0, 2, 2, 2]


def test_black_and_white_is_zero_and_one_in_all(tmp_path: Path) -> None:
    for name, mask in {"ann/a": [[0, 255]], "bob/a": [[0, 1]], "ann/b": [[255, 255]]}.items():
        write_mask(tmp_path / f"{name}.png", np.array(mask))
    source = masks_of_folder(tmp_path, MaskReading(layout="reader-folders"))
    assert source.values == (0, 1)
    assert [image.masks.label.max() for image in source.images()] == [1, 1]
    write_mask(tmp_path / "bob" / "b.png", np.array([[0, 2]]))
    with pytest.raises(ValueError, match="holds 255, and .* holds 2: pass void=255"):
        masks_of_folder(tmp_path, MaskReading(layout="reader-folders"))
    source = masks_of_folder(tmp_path, MaskReading(layout="reader-folders", void=(255,)))
    assert (source.values, source.left_out) == ((0, 1, 2), {"image": 0, "reader": 0})


def test_who_and_what_has_no_labels_is_left_out(cells: Path, tmp_path: Path) -> None:
    empty = np.full((2, 2), 9)
    for name, mask in {"a": np.eye(2), "b": empty}.items():
        for reader in ("ann", "bob", "cid"):
            write_mask(tmp_path / reader / f"{name}.png", empty if reader == "cid" else mask.astype(int))
    source = masks_of_folder(tmp_path, MaskReading(layout="reader-folders", void=(9,)))
    assert source.left_out == {"image": 1, "reader": 1}
    assert (source.count, source.masks, source.readers) == (1, 2, ("ann", "bob"))
    assert [image.name for image in source.images()] == ["a"]
    with pytest.raises(ValueError, match="there are no labels in the masks of"):
        masks_of_folder(tmp_path, MaskReading(layout="reader-folders", readers=("cid",), void=(9,)))
    # A picture that nobody drew is no image here.
    scans = masks_of_folder(cells, MaskReading(images=("image",), readers=("bob",)))
    assert (scans.count, scans.left_out) == (6, {"image": 2, "reader": 0})


def test_files_of_one_image(scans: Path) -> None:
    nibabel = pytest.importorskip("nibabel")
    files = [scans / "case1" / f"{reader}.nii.gz" for reader in READERS]
    source = masks_of_files(files, MaskReading())
    (image,) = source.images()
    assert (image.name, image.ending, source.readers) == ("image", ".nii.gz", tuple(READERS))
    assert image.geometry.affine is not None
    stored = [nibabel.load(file) for file in files]
    assert np.array_equal(image.geometry.affine, stored[0].affine)
    assert np.array_equal(image.masks.matrix()[0], [np.asarray(own.dataobj) for own in stored])
    assert masks_of_files(files, MaskReading(readers=("cid", "ann"))).readers == ("cid", "ann")
    with pytest.raises(ValueError, match="--readers names 'dan', but the files are by ann, bob, cid"):
        masks_of_files(files, MaskReading(readers=("dan",)))


def test_masks_of_different_places_are_refused(scans: Path, cells: Path) -> None:
    elsewhere = [scans / "case1" / "ann.nii.gz", scans / "case2" / "bob.nii.gz"]
    with pytest.raises(ValueError, match=r"case2/bob.nii.gz lies elsewhere than .*case1/ann.nii.gz \(a corner is 1 mm"):
        masks_of_files(elsewhere, MaskReading())
    with pytest.raises(ValueError, match="bring both to one grid first"):
        masks_of_files([elsewhere[0], cells / "ann" / "p0.png"], MaskReading())


def test_the_digest_tells_masks_apart(cells: Path, tmp_path: Path) -> None:
    digest = masks_of_folder(cells, MaskReading()).digest
    assert masks_of_folder(cells, MaskReading()).digest == digest
    assert masks_of_folder(cells, MaskReading(readers=("ann", "bob"))).digest != digest
    for n, mask in enumerate((np.eye(2), np.eye(2)[::-1])):
        for reader in ("ann", "bob"):
            write_mask(tmp_path / f"{n}" / f"{reader}.png", mask.astype(int))
    assert len({masks_of_files(sorted((tmp_path / f"{n}").iterdir()), MaskReading()).digest for n in (0, 1)}) == 2
