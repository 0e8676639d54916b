"""``truelabel report``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

Cli = Callable[..., tuple[int, str, str]]


def test_a_run_of_today_becomes_a_page(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    code, _, _ = cli("train", shelf / "x.csv", shelf / "labels.csv", "--out", run, "--epochs", 2)
    assert code == 0
    code, printed, errors = cli("report", run, "--top", 7)
    assert (code, errors) == (0, "")
    assert f"Wrote {run / 'report.html'} (" in printed
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    code, printed, _ = cli("report", run, "--out", tmp_path / "page.html", "--thumbnails", 0)
    assert code == 0
    assert "0 with a picture" in printed
    assert (tmp_path / "page.html").exists()


def test_what_is_no_run_is_one_line(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    for folder in (shelf, tmp_path / "none"):
        code, printed, errors = cli("report", folder)
        assert (code, printed) == (1, "")
        assert errors == f"error: {folder} is no run folder: name one that `truelabel train` wrote\n"
    code, _, errors = cli("report", tmp_path, "--out", tmp_path / "a.pdf")
    assert (code, errors) == (1, f"error: out must end in .html, got {tmp_path / 'a.pdf'}\n")
