from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truelabel.data.mask_layouts import Layout, Roles, find_cases


def touch(top: Path, *names: str) -> Path:
    for name in names:
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).touch()
    return top.resolve()


def found(
    top: Path,
    layout: Layout | None = None,
    images: tuple[str, ...] | None = ("image",),
    readers: tuple[str, ...] | None = None,
    pattern: str | None = None,
) -> tuple[dict[str, tuple[list[str], dict[str, str]]], list[str]]:
    """Every case with the names of its pictures and masks, and the readers."""
    cases, names = find_cases(top, layout, Roles(images, readers), pattern)
    assert [case.name for case in cases] == sorted(case.name for case in cases)

    def name(path: Path) -> str:
        return path.relative_to(top).as_posix()

    return {c.name: ([name(p) for p in c.pictures], {r: name(p) for r, p in c.masks.items()}) for c in cases}, names


def test_a_folder_for_each_reader(tmp_path: Path) -> None:
    top = touch(
        tmp_path, "Images/a.jpg", "Images/p/b.jpg", "ann/a.png", "bob/a.tif", "bob/p/b.png", "readme.txt", "x.png"
    )
    cases, readers = found(top)
    assert readers == ["ann", "bob"]
    assert cases == {
        "a": (["Images/a.jpg"], {"ann": "ann/a.png", "bob": "bob/a.tif"}),
        "p/b": (["Images/p/b.jpg"], {"bob": "bob/p/b.png"}),
    }
    assert found(top, readers=("bob",))[0]["a"] == (["Images/a.jpg"], {"bob": "bob/a.tif"})


def test_a_folder_for_each_reader_with_a_pattern(tmp_path: Path) -> None:
    top = touch(tmp_path, "image/a.png", "ann/a_seg.png", "ann/a_prob.png")
    assert found(top, pattern="{image}_seg")[0] == {"a": (["image/a.png"], {"ann": "ann/a_seg.png"})}


def test_a_folder_for_each_case(tmp_path: Path) -> None:
    top = touch(
        tmp_path, "a/image.png", "a/ann.png", "b/image.png", "b/bob.nii.gz", "deep/c/IMAGE.png", "deep/c/ann.png"
    )
    cases, readers = found(top)
    assert readers == ["ann", "bob"]
    assert cases == {
        "a": (["a/image.png"], {"ann": "a/ann.png"}),
        "b": (["b/image.png"], {"bob": "b/bob.nii.gz"}),
        "deep/c": (["deep/c/IMAGE.png"], {"ann": "deep/c/ann.png"}),
    }


def test_a_folder_for_each_case_with_its_name_in_the_files(tmp_path: Path) -> None:
    top = touch(tmp_path, *(f"p{i}/p{i}_{role}.nii.gz" for i in (1, 2) for role in ("flair", "t1", "ann", "bob")))
    cases, readers = found(top, images=("t1", "flair"), pattern="{image}_{reader}")
    assert readers == ["ann", "bob"]
    assert cases["p2"] == (
        ["p2/p2_t1.nii.gz", "p2/p2_flair.nii.gz"],
        {"ann": "p2/p2_ann.nii.gz", "bob": "p2/p2_bob.nii.gz"},
    )
    only = found(top, "case-folders", images=None, readers=("bob",), pattern="{image}_{reader}")[0]
    assert only["p1"] == ([], {"bob": "p1/p1_bob.nii.gz"})


def test_suffixes(tmp_path: Path) -> None:
    top = touch(tmp_path, "scan_01.png", "scan_01_ann.png", "scan_01_bob_2.png", "scan_02.png", "scan_02_ann.png")
    cases, readers = found(top)
    assert readers == ["ann", "bob_2"]
    assert cases == {
        "scan_01": (["scan_01.png"], {"ann": "scan_01_ann.png", "bob_2": "scan_01_bob_2.png"}),
        "scan_02": (["scan_02.png"], {"ann": "scan_02_ann.png"}),
    }
    cases, readers = found(top, images=None)
    assert cases["scan_01"] == ([], {"ann": "scan_01_ann.png", "bob_2": "scan_01_bob_2.png"})
    assert readers == ["ann", "bob_2"]


def test_suffixes_with_named_pictures(tmp_path: Path) -> None:
    top = touch(tmp_path, *(f"{case}_{role}.nii" for case in ("a", "a_b") for role in ("flair", "t1", "ann")))
    cases, readers = found(top, images=("flair", "t1"))
    assert readers == ["ann"]
    assert cases == {
        "a": (["a_flair.nii", "a_t1.nii"], {"ann": "a_ann.nii"}),
        "a_b": (["a_b_flair.nii", "a_b_t1.nii"], {"ann": "a_b_ann.nii"}),
    }


def test_suffixes_of_masks_alone_and_in_folders(tmp_path: Path) -> None:
    top = touch(tmp_path, "p1/a_ann.png", "p1/a_bob.png", "p2/a_ann.png")
    cases, _ = found(top, "suffixes", images=None)
    assert cases == {
        "p1/a": ([], {"ann": "p1/a_ann.png", "bob": "p1/a_bob.png"}),
        "p2/a": ([], {"ann": "p2/a_ann.png"}),
    }


def test_suffixes_that_can_be_read_in_two_ways(tmp_path: Path) -> None:
    top = touch(tmp_path, "a.png", "a_ann.png", "a_b.png", "a_b_ann.png")
    with pytest.raises(ValueError, match=r"'a_b.png' may be a picture or the mask of 'a' by 'b': name the readers"):
        found(top)
    cases, _ = found(top, readers=("ann",))
    assert cases == {"a": (["a.png"], {"ann": "a_ann.png"}), "a_b": (["a_b.png"], {"ann": "a_b_ann.png"})}


def test_masks_by_others_are_no_pictures(tmp_path: Path) -> None:
    top = touch(tmp_path, "a.png", "a_ann.png", "a_bob.png", "b.png")
    assert found(top, readers=("ann",))[0] == {"a": (["a.png"], {"ann": "a_ann.png"}), "b": (["b.png"], {})}


def test_masks_alone_when_pictures_are_there_too(tmp_path: Path) -> None:
    by_reader = touch(tmp_path / "x", "images/a.png", "ann/a.png")
    by_case = touch(tmp_path / "y", "a/image.png", "a/ann.png")
    for top in (by_reader, by_case):
        cases, readers = found(top, images=None)
        assert readers == ["ann"]
        assert cases["a"][0] == []
        assert list(cases["a"][1]) == ["ann"]


def test_a_picture_may_be_called_like_a_reader_if_said_so(tmp_path: Path) -> None:
    top = touch(tmp_path, "a/scan.png", "a/image.png")
    assert found(top, images=("scan",), readers=("image",))[0] == {"a": (["a/scan.png"], {"image": "a/image.png"})}


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["ann/a.png", "bob/a.png"], {}, "has no 'image' that shows how it is laid out: pass layout="),
        (["ann/a.png", "bob/a.png"], {"images": None}, "pass layout="),
        (["notes.txt"], {}, "holds no picture"),
        (["a.png", "b.png"], {}, "has no masks if read as suffixes"),
        (["images/a.png"], {}, "has no masks if read as reader-folders"),
        (["images/a.png", "ann/a.png"], {"readers": ("bob",)}, "has no mask by reader 'bob': there are none"),
        (["images/a.png", "ann/a.png"], {"readers": ("ann", "bob")}, "has no mask by reader 'bob': there are ann"),
        (["images/a.png", "ann/b.png"], {}, "mask 'ann/b.png' in .* has no image 'b': add it, or pass images=None"),
        (["a/image.png", "a/ann.png", "b/ann.png"], {}, "mask 'b/ann.png' in .* has no image 'b'"),
        (["a.png", "a_ann.png", "b_ann.png"], {}, "mask 'b_ann.png' in .* has no image 'b'"),
        (["images/a.png", "images/a.jpg", "ann/a.png"], {}, "stand for the same"),
        (["images/a.png", "ann/a.png", "ann/a.tif"], {}, "'ann/a.png' and 'ann/a.tif' in .* stand for the same"),
        (["a/t1.png", "a/ann.png"], {"images": ("t1", "t2")}, "image 'a' in .* has no 't2' beside 'a/t1.png'"),
        (["a.png"], {"layout": "flat"}, "layout 'flat' is unknown"),
        (["a.png"], {"pattern": "{image}"}, "pattern"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path: Path, names: list[str], options: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message) as caught:
        found(touch(tmp_path, *names), **options)
    assert "\n" not in str(caught.value)


def test_nothing_outside_and_nothing_hidden_is_read(tmp_path: Path) -> None:
    outside = touch(tmp_path / "outside", "a.png")
    top = touch(tmp_path / "in", "images/a.png", ".git/a.png", "images/.b.png", "ann/c.png")
    (top / "ann" / "c.png").unlink()
    (top / "ann" / "a.png").symlink_to(outside / "a.png")
    with pytest.raises(ValueError, match="lies outside"):
        found(top)
    (top / "ann" / "a.png").unlink()
    (top / "ann" / "a.png").symlink_to(top / "images" / "a.png")
    assert list(found(top)[0]) == ["a"]


@pytest.mark.parametrize(
    ("files", "lost"),
    [
        ("images/a.png ann/a.png bob/aa.png", "mask 'bob/aa.png' in .* has no image 'aa': add it"),
        ("a/image.png a/ann.png b/ann.png", "mask 'b/ann.png' in .* has no image 'b': add it"),
        ("a.png a_ann.png b_ann.png", "mask 'b_ann.png' in .* has no image 'b': add it"),
        ("a_image.png a_ann.png b_ann.png", "mask 'b_ann.png' in .* has no image 'b': add it"),
    ],
)
def test_where_pictures_are_optional_each_mask_has_its_own_or_none_has(files: str, lost: str, tmp_path: Path) -> None:
    top = touch(tmp_path, *files.split())
    with pytest.raises(ValueError, match=lost):
        find_cases(top, None, Roles(("image",), None, optional=True), None)


def test_optional_pictures_that_are_not_there(tmp_path: Path) -> None:
    top = touch(tmp_path, "a_ann.png", "a_bob.png", "b_bob.png", "stray.png")
    cases, readers = find_cases(top, None, Roles(("image",), None, optional=True), None)
    assert ([(case.name, case.pictures) for case in cases], readers) == ([("a", ()), ("b", ())], ["ann", "bob"])
