from __future__ import annotations

from pathlib import Path

import pytest

from truelabel.data import MissingDataError
from truelabel.data.cases import Case
from truelabel.data.published_trees import either, find_tree, require_files


def test_the_first_folder_that_holds_the_marker_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "set" / "a").mkdir(parents=True)
    (tmp_path / "set" / "a" / "x.png").touch()
    assert find_tree(tmp_path, ("other", "set", "."), "*/*.png") == tmp_path / "set"
    assert find_tree(tmp_path / "set", ("other", "set", "."), "*/*.png") == tmp_path / "set"
    assert find_tree(tmp_path, ("set", "."), "*.tif") == tmp_path
    monkeypatch.setenv("TRUELABEL_DATA", str(tmp_path))
    assert find_tree(None, ("set", "."), "*/*.png") == tmp_path / "set"


def test_plain_or_zipped(tmp_path: Path) -> None:
    assert either(tmp_path, "a.nii") == tmp_path / "a.nii"
    (tmp_path / "a.nii.gz").touch()
    assert either(tmp_path, "a.nii") == tmp_path / "a.nii.gz"
    (tmp_path / "a.nii").touch()
    assert either(tmp_path, "a.nii") == tmp_path / "a.nii"


def test_missing_files_are_named_up_to_four(tmp_path: Path) -> None:
    (tmp_path / "there").touch()
    case = Case("x", (tmp_path / "there",), {"ann": tmp_path / "there"})
    require_files("set", tmp_path, [case], "a.png")
    with pytest.raises(
        MissingDataError, match="^set is not in .*: expected a.png and the like; get it from its authors"
    ):
        require_files("set", tmp_path, [], "a.png and the like")
    lost = case._replace(masks={str(i): tmp_path / "sub" / f"m{i}.png" for i in range(6)})
    with pytest.raises(MissingDataError, match=r"expected sub/m0.png, .*, sub/m3.png, and 2 more; ") as caught:
        require_files("set", tmp_path, [case, lost], "a.png")
    assert "\n" not in str(caught.value)
