"""Tables in the terminal, and tables to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from truelabel.cli.tables import check_output, counted, show, show_readers, write_columns
from truelabel.frames import Table


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")


def test_a_table_shows_every_cell(capsys: pytest.CaptureFixture[str]) -> None:
    show(["name", "count"], [["ann", 3], ["bob", 12]], title="Who", right=1)
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].strip() == "Who"
    assert "ann  │     3 " in printed
    assert "bob  │    12 " in printed


@pytest.mark.parametrize("text", ["[red]", "[/red]", "[b]x[/b]", "C:\\[x]"])
def test_brackets_are_text_and_no_markup(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    show(["name", text], [[text, 1]], title=f"Title of {text}")
    printed = capsys.readouterr().out
    assert printed.count(text) == 3


def test_readers_stand_by_skill_and_of_many_only_the_ends(capsys: pytest.CaptureFixture[str]) -> None:
    skill = np.array([0.5, 0.9, 0.7])
    show_readers({"reader": ["a", "b", "c"], "images": [1, 2, 3], "skill": skill, "dice": [0.25, 1.0, 0]}, "it", "Who")
    lines = capsys.readouterr().out.splitlines()
    assert "Dice with it" in lines[2]
    assert [line.split() for line in lines if line.startswith("│")] == [
        ["│", "b", "│", "2", "│", "90.0%", "│", "1.000", "│"],
        ["│", "c", "│", "3", "│", "70.0%", "│", "0.000", "│"],
        ["│", "a", "│", "1", "│", "50.0%", "│", "0.250", "│"],
    ]
    many = np.arange(13)
    show_readers({"reader": [f"r{n:02}" for n in many], "images": many, "skill": many / 13, "dice": many}, "it", "Who")
    printed = capsys.readouterr().out
    assert "Who: the six most and the six least skilled" in " ".join(printed.split())
    assert [f"r{n:02}" in printed for n in many].count(True) == 12
    assert "r06" not in printed


def test_what_there_is_none_of_is_not_counted() -> None:
    assert counted({"image": 1, "reader": 2}) == "1 image and 2 readers"
    assert counted({"image": 0, "reader": 0}) == ""


@pytest.mark.parametrize("ending", ["csv", "parquet", "CSV"])
def test_columns_come_back(ending: str, tmp_path: Path) -> None:
    path = tmp_path / "new" / f"table.{ending}"
    names = np.array(["a", 'b,"', "ü"], object)
    write_columns({"name": names, "p": np.array([0.1, 1e-300, 1.0]), "n": np.arange(3), "b": [True, False, True]}, path)
    table = Table(path)
    assert table.columns == ("name", "p", "n", "b")
    assert table.column("name").to_pylist() == names.tolist()
    assert table.column("p").to_pylist() == [0.1, 1e-300, 1.0]
    assert table.column("n").to_pylist() == [0, 1, 2]
    assert table.column("b").to_pylist() == [True, False, True]
    assert [other.name for other in path.parent.iterdir()] == [path.name]


def test_only_endings_that_can_be_written_pass(tmp_path: Path) -> None:
    check_output(tmp_path / "a.csv")
    check_output(tmp_path / "a.PARQUET")
    for name in ("a", "a.txt", "a.csv.gz", ".csv"):
        with pytest.raises(ValueError, match=r"must end in \.csv or \.parquet"):
            check_output(tmp_path / name)
    (tmp_path / "b.csv").mkdir()
    with pytest.raises(ValueError, match="is a folder: name a file in it"):
        check_output(tmp_path / "b.csv")


def test_what_is_too_wide_stands_below_and_nothing_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    columns = ["", *(f"column {n}" for n in range(7))]
    rows = [[f"row {r}", *(f"{r}{n}.25 ± 0.50 (5)\npaper {n}" for n in range(7))] for r in range(2)]
    show(columns, rows, title="Wide", whole=True)
    printed = capsys.readouterr().out
    assert all(f" {r}{n}.25 ± 0.50 (5) " in printed for r in range(2) for n in range(7))
    assert max(map(len, printed.splitlines())) <= 50
    # Two columns beside the first fit each time.
    assert [printed.count(text) for text in ("Wide", " row 0 ", "┏", "…")] == [1, 4, 4, 0]


def test_a_column_wider_than_the_terminal_is_not_cut_either(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    show(["", "a"], [["a name of some length", "τ = 0.025, λ = 0.5"]], whole=True)
    assert "│ a name of some length │ τ = 0.025, λ = 0.5 │" in capsys.readouterr().out
