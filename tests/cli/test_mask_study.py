from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from truelabel.cli.mask_study import write_study
from truelabel.data.exchange.drawn import Drawn, Region, Sheet


def drawn(*names: tuple[str, str]) -> Drawn:
    region = Region("cell", lambda height, width: np.eye(height, width, dtype=bool), "shape 1")
    return Drawn(tuple(Sheet(image, reader, (2, 3), (region,)) for image, reader in names), ("background", "cell"))


def test_a_folder_for_each_reader(tmp_path: Path) -> None:
    Image.new("L", (3, 2)).save(tmp_path / "x.y.PNG")
    write_study(drawn(("x.y.PNG", "ann/1"), ("x.y.PNG", "Image")), tmp_path / "out", tmp_path)
    files = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.png"))
    assert files == ["ann_1/x.y.png", "images/x.y.png", "reader Image/x.y.png"]
    assert np.asarray(Image.open(tmp_path / "out" / "ann_1" / "x.y.png")).tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            [("a.png", "ann"), ("a.jpg", "ann")],
            "pictures 'a.jpg' and 'a.png' would be one file: rename one",
        ),
        ([("a.png", "x/y"), ("a.png", "x:y")], "readers 'x/y' and 'x:y' would be one file"),
        ([("a.png", "Ann"), ("a.png", "ann")], "readers 'Ann' and 'ann' would be one file"),
    ],
)
def test_two_names_that_become_one_are_refused(tmp_path: Path, names: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        write_study(drawn(*names), tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_pictures_stay_within_their_folder(tmp_path: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    Image.new("L", (3, 2)).save(tmp_path / "secret.png")
    (folder / "a.png").symlink_to(tmp_path / "secret.png")
    with pytest.raises(ValueError, match="'a.png' lies outside"):
        write_study(drawn(("a.png", "ann")), tmp_path / "out", folder)
    with pytest.raises(FileNotFoundError, match="picture 'b.png' is not in"):
        write_study(drawn(("b.png", "ann")), tmp_path / "out", folder)
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_into_a_folder_that_holds_something(tmp_path: Path) -> None:
    (tmp_path / "out" / "ann").mkdir(parents=True)
    with pytest.raises(ValueError, match="is there already: name a new folder"):
        write_study(drawn(("a.png", "ann")), tmp_path / "out")
