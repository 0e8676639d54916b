"""Which files are pictures to be segmented."""

from __future__ import annotations

from pathlib import Path

import pytest

from truelabel.data.pictures import find_pictures


def touch(folder: Path, files: str) -> Path:
    for name in files.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


@pytest.mark.parametrize(
    ("files", "names", "found"),
    [
        ("b.png a.JPG notes.txt .hidden.png x/c.nii.gz", ["a", "b", "x/c"], "a.JPG b.png x/c.nii.gz"),
        ("images/a.png Image/deep/b.tif ann/a.png", ["a", "deep/b"], "images/a.png Image/deep/b.tif"),
        ("p1/image.png p1/ann.png q/p2/image.png", ["p1", "q/p2"], "p1/image.png q/p2/image.png"),
        ("image.png ann.png dan.png", ["image"], "image.png"),
        ("a_image.png a_ann.png b_images.tif", ["a", "b"], "a_image.png b_images.tif"),
        ("a.png a_ann.png b_ann.png c_dan.png", ["a", "b_ann", "c_dan"], "a.png b_ann.png c_dan.png"),
        ("ann.png bob/b.png new/a.png", ["ann", "bob/b", "new/a"], "ann.png bob/b.png new/a.png"),
    ],
    ids=["plain", "reader folders", "case folders", "one case", "suffixes", "masks beside", "called after readers"],
)
def test_layouts(files: str, names: list[str], found: str, tmp_path: Path) -> None:
    pictures, left_out = find_pictures(touch(tmp_path, files), ("image",), ("ann", "bob"))
    assert [picture.name for picture in pictures] == names
    assert [picture.files for picture in pictures] == [(tmp_path / name,) for name in found.split()]
    known = {name for name in files.split() if not name.startswith(".") and not name.endswith(".txt")}
    assert {path.relative_to(tmp_path).as_posix() for path in left_out} == known - set(found.split())


def test_channels_in_the_order_of_the_run(tmp_path: Path) -> None:
    touch(tmp_path, "a/t1.nii a/flair.nii a/ann.nii b/flair.nii b/t1.nii")
    pictures = find_pictures(tmp_path, ("flair", "t1")).found
    assert [(p.name, [file.stem for file in p.files]) for p in pictures] == [
        ("a", ["flair", "t1"]),
        ("b", ["flair", "t1"]),
    ]
    (tmp_path / "b" / "t1.nii").unlink()
    with pytest.raises(ValueError, match="picture 'b' has no 't1' beside .*flair.nii: add it"):
        find_pictures(tmp_path, ("flair", "t1"))
    with pytest.raises(ValueError, match="one file, but a picture has flair, t1: name a folder with them"):
        find_pictures(tmp_path / "b" / "flair.nii", ("flair", "t1"))
    with pytest.raises(ValueError, match="has no file or folder called 'pd': the run learned from pd, t2"):
        find_pictures(tmp_path, ("pd", "t2"))


def test_a_pattern_of_masks(tmp_path: Path) -> None:
    touch(tmp_path, "a.png a-ann-seg.png a-new.png")
    pictures = find_pictures(tmp_path, ("image",), ("ann",), "{image}-{reader}-seg").found
    assert [picture.name for picture in pictures] == ["a", "a-new"]


def test_one_file_and_results_of_earlier(tmp_path: Path) -> None:
    touch(tmp_path, "a.nii.gz answers/a.nii.gz answers/readers/ann/a.nii.gz")
    assert find_pictures(tmp_path / "a.nii.gz", ("image",)).found[0].name == "a"
    pictures = find_pictures(tmp_path, ("image",), without=tmp_path / "answers").found
    assert [picture.name for picture in pictures] == ["a"]


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no file or folder .*none"):
        find_pictures(tmp_path / "none", ("image",))
    with pytest.raises(ValueError, match="holds no picture, volume or array"):
        find_pictures(tmp_path, ("image",))
    touch(tmp_path, "a.png a.jpg notes.txt")
    with pytest.raises(ValueError, match="a.jpg and .*a.png are both of picture 'a': keep one of them"):
        find_pictures(tmp_path, ("image",))
    with pytest.raises(ValueError, match="notes.txt is no picture that can be read: pass .bmp"):
        find_pictures(tmp_path / "notes.txt", ("image",))
