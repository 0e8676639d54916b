"""What examples look like."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from truelabel.report import RunFolder, read_run
from truelabel.report.exhibits import MOST_TEXT, show_examples

from .conftest import SCRIPT, write


@pytest.fixture
def bare(run: Path) -> RunFolder:
    """A run without pictures of its own."""
    (run / "pictures.npy").unlink()
    return read_run(run)


def with_source(run: RunFolder, kind: str, data: Path, **rest: Any) -> RunFolder:
    return replace(run, kind=kind, source={"data": str(data), "kind": kind, **rest})


def test_pictures_of_the_run_come_first(trained: Path) -> None:
    found = show_examples(read_run(trained), ["5", "7", "5", "9"], 2)
    assert list(found.shown) == ["5", "7"]
    assert found.shown["5"].picture is not None
    assert (found.shown["5"].picture.width, found.notes) == (8, [])
    assert found.shown["5"].picture != found.shown["7"].picture


@pytest.mark.parametrize("shape", [(3, 8, 8), (120, 8), (120, 8, 8, 2)])
def test_wrong_pictures_are_a_note(shape: tuple[int, ...], run: Path) -> None:
    np.save(run / "pictures.npy", np.zeros(shape, np.uint8))
    found = show_examples(read_run(run), ["5"], 9)
    assert found.shown == {}
    assert "pictures.npy must be (120, H, W)" in found.notes[0]


def test_pickles_are_not_loaded(run: Path) -> None:
    np.save(run / "pictures.npy", np.array([print] * 120, object), allow_pickle=True)
    found = show_examples(read_run(run), ["5"], 9)
    assert found.shown == {}
    assert len(found.notes) == 1


def test_files_of_the_folder_and_no_others(bare: RunFolder, tmp_path: Path) -> None:
    top = tmp_path / "pictures"
    (top / "deep").mkdir(parents=True)
    Image.new("RGB", (90, 70), "red").save(top / "deep" / "a.png")
    Image.new("RGB", (90, 70), "blue").save(tmp_path / "secret.png")
    (top / "link.png").symlink_to(tmp_path / "secret.png")
    (top / "bad.png").write_bytes(b"no picture")
    run = with_source(bare, "images", top)
    assert list(show_examples(run, ["deep/a.png"], 9).shown) == ["deep/a.png"]
    outside = ["../secret.png", str(tmp_path / "secret.png"), "link.png", "../../etc/passwd", "..\\secret.png"]
    for name in outside:
        found = show_examples(run, [name, "deep/a.png"], 9)
        assert list(found.shown) == ["deep/a.png"]
        assert found.notes == [f"1 example is shown by name only, such as {name!r}: it lies outside the data."]
    found = show_examples(run, ["bad.png", "none.png"], 9)
    assert found.notes == ["2 examples are shown by name only, such as 'bad.png': it cannot be read."]
    assert "not where the run found it" in show_examples(run, ["none.png"], 9).notes[0]


def test_absurd_sizes_do_not_break_the_rest(bare: RunFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Image.new("L", (200, 200)).save(tmp_path / "huge.png")
    Image.new("L", (20, 20)).save(tmp_path / "fine.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    found = show_examples(with_source(bare, "images", tmp_path), ["huge.png", "fine.png"], 9)
    assert list(found.shown) == ["fine.png"]
    assert "absurdly large" in found.notes[0]


def test_inputs_that_moved_are_a_note(bare: RunFolder, tmp_path: Path) -> None:
    for kind in ("images", "table", "arrays", "text"):
        found = show_examples(with_source(bare, kind, tmp_path / "gone"), ["1"], 9)
        assert found.shown == {}
        assert "no longer where source.json says" in found.notes[0]
    assert "does not say where" in show_examples(replace(bare, kind=None), ["1"], 9).notes[0]
    assert show_examples(bare, [], 9).notes == []


def test_rows_of_arrays(bare: RunFolder, tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.arange(60.0).reshape(3, 20))
    found = show_examples(with_source(bare, "arrays", tmp_path / "rows.npy"), ["1", "3", "-1"], 9)
    assert found.shown["1"].row[:2] == (("feature 0", "20"), ("feature 1", "21"))
    assert len(found.shown["1"].row) == 12
    assert "no such row" in found.notes[0]
    np.save(tmp_path / "images.npy", np.zeros((3, 1, 9, 8), np.uint8))
    picture = show_examples(with_source(bare, "arrays", tmp_path / "images.npy"), ["2"], 9).shown["2"].picture
    assert picture is not None
    assert (picture.width, picture.height) == (8, 9)


def test_rows_and_texts_of_tables(bare: RunFolder, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    write(file, name=["007", "b"], height=[1.23456789, 2.0], words=[SCRIPT, "x" * 3000], age=[3, 4])
    run = with_source(bare, "table", file)
    (run.path / "inputs.json").write_text(json.dumps({"id_column": "name", "columns": ["age", "height"]}))
    assert show_examples(run, ["007"], 9).shown["007"].row == (("age", "3"), ("height", "1.235"))
    assert "no such row" in show_examples(run, ["7"], 9).notes[0]
    texts = show_examples(with_source(bare, "text", file, text_column="words"), ["007", "b"], 9)
    assert texts.shown["007"].text == SCRIPT
    assert texts.shown["b"].text == "x" * MOST_TEXT + "…"
    (run.path / "inputs.json").unlink()
    assert show_examples(with_source(bare, "text", file, text_column="words"), ["0"], 9).shown["0"].text == SCRIPT
    assert "no column" in show_examples(with_source(bare, "text", file, text_column="nope"), ["0"], 9).notes[0]
