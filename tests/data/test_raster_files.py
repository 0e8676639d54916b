"""Which files in a folder may hold pictures or masks."""

from __future__ import annotations

from pathlib import Path

import pytest

from truelabel.data.raster_files import raster_files

NOTE = '{"method": "staple", "said": "12ab"}'


def touch(folder: Path, files: str) -> Path:
    for name in files.split():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return folder


def names(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in raster_files(folder)]


def test_endings_and_hidden_files(tmp_path: Path) -> None:
    touch(tmp_path, "b.NII.gz a.png notes.txt .hidden.png .cache/c.png deep/er/d.npy")
    (tmp_path / "folder.png").mkdir()
    assert names(tmp_path) == ["a.png", "b.NII.gz", "deep/er/d.npy"]


@pytest.mark.parametrize("note", ["fusion.json", "run.json"])
def test_results_are_left_out_but_not_where_they_are_asked_for(note: str, tmp_path: Path) -> None:
    touch(tmp_path, "ann/a.png results/new/consensus/a.png results/b.png")
    (tmp_path / "results" / "new" / note).write_text(NOTE)
    assert names(tmp_path) == ["ann/a.png", "results/b.png"]
    assert names(tmp_path / "results" / "new") == ["consensus/a.png"]


@pytest.mark.parametrize("text", ["", "[1]", '{"method": "mine"}', "\udcff"])
def test_a_note_of_somebody_else_hides_nothing(text: str, tmp_path: Path) -> None:
    touch(tmp_path, "ann/a.png")
    (tmp_path / "ann" / "run.json").write_bytes(text.encode(errors="surrogateescape"))
    assert names(tmp_path) == ["ann/a.png"]
