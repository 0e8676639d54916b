from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from truelabel.data import MissingDataError, data_root
from truelabel.data.root import missing_data


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("TRUELABEL_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)


def test_argument_then_variable_then_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert data_root() == tmp_path / "cache" / "truelabel"
    monkeypatch.setenv("TRUELABEL_DATA", str(tmp_path / "data"))
    assert data_root() == tmp_path / "data"
    assert data_root(tmp_path / "mine") == tmp_path / "mine"


@pytest.mark.parametrize(
    ("platform", "expected"),
    [
        ("linux", ".cache/truelabel"),
        ("darwin", "Library/Caches/truelabel"),
        ("win32", "AppData/Local/truelabel"),
    ],
)
def test_each_system_has_its_own_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, platform: str, expected: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    assert data_root() == tmp_path / expected


def test_looking_creates_nothing(tmp_path: Path) -> None:
    data_root()
    assert list(tmp_path.iterdir()) == []


def test_missing_data_is_one_line_with_files_place_and_way_out(tmp_path: Path) -> None:
    error = missing_data("mnist", tmp_path, ["a.gz", "b.gz"])
    assert isinstance(error, FileNotFoundError)
    assert isinstance(pickle.loads(pickle.dumps(error)), MissingDataError)
    message = str(error)
    assert "\n" not in message
    for part in ("a.gz, b.gz", str(tmp_path), "`truelabel data fetch mnist`", "TRUELABEL_DATA"):
        assert part in message
    assert "fetch" not in str(missing_data("x", tmp_path, ["a"], way_out="ask its authors"))
