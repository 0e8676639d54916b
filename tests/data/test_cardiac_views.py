from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from truelabel.data import MissingDataError, cardiac_views

RNG = np.random.default_rng(0)


def picture(path: Path, side: int = 96) -> npt.NDArray[np.uint8]:
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = RNG.integers(0, 256, (side, side), np.uint8)
    Image.fromarray(pixels).save(path)
    return pixels


@pytest.fixture
def views(tmp_path: Path) -> tuple[Path, dict[str, npt.NDArray[np.uint8]]]:
    top = tmp_path / "cardiac_views"
    pixels = {name: picture(top / name) for name in (
        "train/images/007.png", "train/images/a/12.png", "train/images/9.png", "test/images/1.png")}  # fmt: skip
    (top / "train/truth.csv").write_text("example,label\n9.png,short axis\n007.png,apical\na/12.png,apical\n")
    (top / "train/labels.csv").write_text(
        "example,annotator,label\na/12.png,eve,short axis\n007.png,eve,apical\n007.png,dan,short axis\n"
    )
    (top / "test/truth.csv").write_text("example,label\n1.png,short axis\n")
    return tmp_path, pixels


def test_pictures_truth_and_what_was_said(views: tuple[Path, dict[str, npt.NDArray[np.uint8]]]) -> None:
    root, pixels = views
    for place in (root, root / "cardiac_views"):
        data, said = cardiac_views("train", place)
        assert data.classes == ("apical", "short axis")
        assert data.inputs.shape == (3, 1, 96, 96)
        order = ["train/images/007.png", "train/images/9.png", "train/images/a/12.png"]
        np.testing.assert_array_equal(data.inputs[:, 0], [pixels[name] for name in order])
        assert data.labels.tolist() == [0, 1, 0]
        assert said is not None
        assert said.classes == data.classes
        assert said.annotators.tolist() == ["dan", "eve"]
        assert said.matrix().tolist() == [[1, 0], [-1, -1], [-1, 1]]
    data, said = cardiac_views("train", root, limit=1)
    assert data.labels.tolist() == [0]
    assert said is not None
    assert said.matrix().tolist() == [[1, 0]]
    tested, nothing = cardiac_views("test", root)
    assert tested.labels.tolist() == [1]
    assert tested.classes == data.classes
    assert nothing is None


def test_what_is_missing(views: tuple[Path, dict[str, npt.NDArray[np.uint8]]]) -> None:
    root, _ = views
    top = root / "cardiac_views"
    (top / "train/labels.csv").unlink()
    with pytest.raises(MissingDataError, match="expected train/labels.csv; its authors do not publish it"):
        cardiac_views("train", root)
    (top / "test/images/1.png").unlink()
    with pytest.raises(MissingDataError, match=r"expected test/images/\*.png; "):
        cardiac_views("test", root)
    with pytest.raises(MissingDataError, match=r"expected train/truth.csv, train/labels.csv, train/images/\*.png; "):
        cardiac_views("train", root / "none")
    with pytest.raises(ValueError, match="split 'val' is unknown"):
        cardiac_views("val", root)  # type: ignore[arg-type]


def test_damage_is_named(views: tuple[Path, dict[str, npt.NDArray[np.uint8]]]) -> None:
    root, _ = views
    top = root / "cardiac_views"
    picture(top / "test/images/2.png")
    with pytest.raises(ValueError, match=r"test/truth.csv has no label for 2.png: add it"):
        cardiac_views("test", root)
    (top / "test/truth.csv").write_text("example,label\n1.png,short axis\n2.png,other\n")
    with pytest.raises(ValueError, match="'?other'?"):
        cardiac_views("test", root)
    (top / "test/truth.csv").write_text("example,label\n1.png,short axis\n2.png,apical\n3.png,apical\n")
    with pytest.raises(ValueError, match=r"3\.png"):
        cardiac_views("test", root)
    (top / "test/truth.csv").write_text("example,label\n1.png,short axis\n2.png,apical\n")
    picture(top / "test/images/2.png", side=90)
    with pytest.raises(ValueError, match="pass size="):
        cardiac_views("test", root)
    picture(top / "test/images/1.png", side=90)
    with pytest.raises(ValueError, match="are 90 x 90, not 96 x 96: resize them"):
        cardiac_views("test", root)
