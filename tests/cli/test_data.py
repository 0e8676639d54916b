"""``truelabel data``, against a server on this computer."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from truelabel.data import SOURCES, Source

Cli = Callable[..., tuple[int, str, str]]
CONTENT = b"some data" * 1000


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty data root."""
    monkeypatch.setenv("TRUELABEL_DATA", str(tmp_path / "root"))
    return tmp_path / "root"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[str]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "file.bin").write_bytes(CONTENT)
    http = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served")))
    thread = threading.Thread(target=http.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{http.server_address[1]}"
    http.shutdown()
    thread.join()
    http.server_close()


def source(server: str, content: bytes = CONTENT) -> Source:
    return Source("toy/file.bin", (f"{server}/file.bin",), f"sha256:{hashlib.sha256(content).hexdigest()}")


def test_where(cli: Cli, root: Path) -> None:
    assert cli("data", "where") == (0, f"{root}\n", "")
    assert not root.exists()


def test_fetch_then_list(cli: Cli, root: Path, server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SOURCES, "toy", (source(server),))

    def fetched() -> dict[str, bool]:
        code, printed, errors = cli("data", "list")
        assert (code, errors) == (0, "")
        assert f"Data root: {root}" in printed.replace("\n", "")
        lines = {name: next(line for line in printed.splitlines() if f" {name} " in line) for name in SOURCES}
        return {name: " yes " in line for name, line in lines.items()}

    assert fetched() == dict.fromkeys(SOURCES, False)
    assert cli("data", "fetch", "toy") == (0, f"{root / 'toy' / 'file.bin'}\n", "")
    assert (root / "toy" / "file.bin").read_bytes() == CONTENT
    assert fetched() == {**dict.fromkeys(SOURCES, False), "toy": True}


def test_a_wrong_download_is_one_line_and_leaves_nothing_behind(
    cli: Cli, root: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SOURCES, "toy", (source(server, b"other"),))
    code, printed, errors = cli("data", "fetch", "toy")
    assert (code, printed) == (1, "")
    assert errors.startswith("error: cannot download file.bin (")
    assert "wrong checksum" in errors
    assert errors.count("\n") == 1
    assert [path for path in root.rglob("*") if path.is_file()] == []


def test_an_unknown_name_lists_those_there_are(cli: Cli, root: Path) -> None:
    code, _, errors = cli("data", "fetch", "nope")
    assert code == 1
    assert errors == f"error: name 'nope' is unknown: choose from {', '.join(SOURCES)}\n"
    assert not root.exists()
