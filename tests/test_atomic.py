"""Files that are either whole or absent."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest

from truelabel.atomic import write_atomically


def test_folders_on_the_way_are_made(tmp_path: Path) -> None:
    write_atomically(tmp_path / "deep" / "er" / "a.bin", b"\0new")
    assert (tmp_path / "deep" / "er" / "a.bin").read_bytes() == b"\0new"


def test_a_failed_write_keeps_the_old_file_and_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_atomically(path, b"old")
    with mock.patch.object(os, "fsync", side_effect=OSError("disk full")), pytest.raises(OSError, match="disk full"):
        write_atomically(path, b"new and longer")
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_an_error_names_the_target(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"page\.md'$"):
        write_atomically(tmp_path / "file" / "page.md", b"text")
