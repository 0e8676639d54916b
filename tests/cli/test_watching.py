from __future__ import annotations

import sys
import time

import pytest

from truelabel.cli import watching as module
from truelabel.cli.watching import watching
from truelabel.experiments import Calculation, Reached, UnderWay
from truelabel.experiments.plan import Planned


def under_way(seconds: float | None = None, runs: int = 1) -> UnderWay:
    run = Planned(Calculation(calculation="attenuated-loss", options={}), 0, "table-1, CE, asym 40, seed 0")
    return UnderWay(3, 15, ((run, Reached("main", 12, 40, 60.0)),) * runs, seconds)


def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with watching() as watcher:
        watcher.watch(under_way())
    assert capsys.readouterr() == ("", ""), "too soon"
    monkeypatch.setattr(module, "LOG_EVERY", 0.0)
    with watching() as watcher:
        watcher.watch(under_way())
        watcher.watch(under_way(125.0, runs=3))
    assert capsys.readouterr() == (
        "",
        "[3/15] under way: table-1, CE, asym 40, seed 0, epoch 12 of 40\n"
        "[3/15] about 2 min left, under way: table-1, CE, asym 40, seed 0, epoch 12 of 40, and 2 more\n",
    )


def test_in_a_terminal_a_line_changes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    with watching() as watcher:
        watcher.say("[4/15] one [bold] has ended")
        watcher.watch(under_way(125.0))
    told = capsys.readouterr()
    assert told.out == ""
    assert "[3/15] about 2 min left, under way: table-1" in told.err
    assert "epoch 12" not in told.err, "it is cut where the terminal ends"
    assert "[4/15] one [bold] has ended\n" in told.err, "a line of its own, and no markup"
    assert told.err.endswith("\x1b[2K"), "nothing of the other line stays"


@pytest.mark.parametrize(("name", "value"), [("TERM", "dumb"), ("COLUMNS", "0")])
def test_a_terminal_that_cannot_change_lines_is_a_log(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with watching() as watcher:
        watcher.say("[4/15] one has ended")
    assert capsys.readouterr() == ("", "[4/15] one has ended\n")


def test_what_has_ended_is_not_shown_any_longer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with watching() as watcher:
        watcher.watch(under_way(125.0))
        watcher.say("[4/15] it has ended")
        capsys.readouterr()
        time.sleep(0.6)  # it is drawn four times a second
    assert "under way" not in capsys.readouterr().err
