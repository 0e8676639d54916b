"""The folder of a fusion: whole or not at all, and never that of another."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from truelabel.cli import fusion_folder

Cli = Callable[..., tuple[int, str, str]]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_huge_table_of_confusion_is_not_written(
    cli: Cli, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fusion_folder, "MOST_CELLS", 11)
    code, printed, errors = cli("fuse", shelf / "labels.csv", "--out", tmp_path / "fused")
    assert (code, errors) == (0, "")
    assert "No table of confusion: it would have 12 rows" in printed
    assert sorted(snapshot(tmp_path / "fused")) == ["annotators.csv", "consensus.csv", "fusion.json"]


def test_the_same_may_be_written_again_and_another_is_refused(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    out = tmp_path / "fused"
    out.mkdir()
    (out / "mine.txt").write_text("stays")
    arguments = ("fuse", shelf / "labels.csv", "--out", out)
    code, first, _ = cli(*arguments)
    assert code == 0
    before = snapshot(out)
    assert "mine.txt" in before
    assert cli(*arguments) == (0, first, "")
    # The same labels from another file are the same fusion.
    assert cli("fuse", shelf / "labels.parquet", "--out", out)[0] == 0
    for changed, key in (
        ((*arguments, "--method", "mace"), "method is 'majority-vote', not 'mace'"),
        ((*arguments, "--seed", 1), "seed is 0, not 1"),
        ((*arguments, "--option", "ties=lowest"), "options is "),
        ((*arguments, "--format", "parquet"), "format is 'csv', not 'parquet'"),
        (("fuse", shelf / "without-e07.csv", "--out", out), "labels is "),
    ):
        code, printed, errors = cli(*changed)
        assert (code, printed) == (1, "")
        assert errors.startswith(f"error: {out} holds another fusion ({key}")
        assert errors.endswith("): name another folder with --out, or delete it\n")
    assert snapshot(out) == before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("fusion.json", "{", "fusion.json does not describe a fusion: name another folder with --out"),
        ("fusion.json", "[]", "fusion.json does not describe a fusion: name another folder with --out"),
        ("consensus.parquet", "", "holds consensus.parquet but no fusion.json that says where it comes from"),
    ],
)
def test_a_folder_with_files_of_unknown_origin_is_refused(
    name: str, text: str, message: str, cli: Cli, shelf: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    code, _, errors = cli("fuse", shelf / "labels.csv", "--out", tmp_path)
    assert code == 1
    assert message in errors
    assert snapshot(tmp_path) == {name: text.encode()}


def test_a_failure_while_writing_leaves_nothing(
    cli: Cli, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(fusion_folder, "_named", fail)
    assert cli("fuse", shelf / "labels.csv", "--out", tmp_path / "fused")[0] == 1
    monkeypatch.undo()
    monkeypatch.setattr("truelabel.frames.write_table", fail)
    code, _, errors = cli("fuse", shelf / "labels.csv", "--out", tmp_path / "fused")
    assert (code, errors) == (1, "error: No space left on device\n")
    assert os.listdir(tmp_path) == []  # noqa: PTH208
