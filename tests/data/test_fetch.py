from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import truelabel.data
from truelabel.data import SOURCES, FetchError, Source, fetch, mnist

CONTENT = bytes(range(256)) * 2000


class Server:
    """Serves ``files`` on this machine and remembers what was asked for."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.promised: dict[str, int] = {}
        self.asked: list[str] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.asked.append(self.path)
                content = owner.files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.send_header("Content-Length", str(owner.promised.get(self.path, len(content or b""))))
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"

    def source(self, path: str, content: bytes, **changes: object) -> Source:
        self.files[f"/{path}"] = content
        parts = {
            "path": path,
            "urls": (f"{self.url}/{path}",),
            "checksum": f"md5:{hashlib.md5(content).hexdigest()}",
            "size": len(content),
        }
        return Source(**(parts | changes))  # type: ignore[arg-type]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.http.shutdown()
    thread.join()
    server.http.server_close()


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def tar_gz(**members: bytes | tarfile.TarInfo) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for name, member in members.items():
            if isinstance(member, tarfile.TarInfo):
                tar.addfile(member)
            else:
                info = tarfile.TarInfo(name)
                info.size = len(member)
                tar.addfile(info, io.BytesIO(member))
    return content.getvalue()


def test_downloads_then_leaves_alone(server: Server, tmp_path: Path) -> None:
    sources = {"x": (server.source("a/b.bin", CONTENT), server.source("c.bin", b"c", size=None))}
    paths = fetch("x", tmp_path, sources=sources)
    assert paths == (tmp_path / "a/b.bin", tmp_path / "c.bin")
    assert paths[0].read_bytes() == CONTENT
    assert files_in(tmp_path) == ["a/b.bin", "c.bin"]
    assert server.asked == ["/a/b.bin", "/c.bin"]
    before = paths[0].stat().st_mtime_ns
    fetch("x", tmp_path, sources=sources)
    assert len(server.asked) == 2
    assert paths[0].stat().st_mtime_ns == before


@pytest.mark.parametrize("there", [b"half", CONTENT[::-1]])
def test_wrong_and_half_files_are_replaced(server: Server, tmp_path: Path, there: bytes) -> None:
    (tmp_path / "a.bin").write_bytes(there)
    (tmp_path / "a.bin.part").write_bytes(there)
    (path,) = fetch("x", tmp_path, sources={"x": (server.source("a.bin", CONTENT),)})
    assert path.read_bytes() == CONTENT
    assert files_in(tmp_path) == ["a.bin"]


def test_progress_counts_up_to_the_size(server: Server, tmp_path: Path) -> None:
    calls: list[tuple[str, int, int | None]] = []
    sources = {"x": (server.source("a.bin", CONTENT, size=None),)}
    fetch("x", tmp_path, sources=sources, progress=lambda *call: calls.append(call))
    assert len(calls) > 1
    assert [done for _, done, _ in calls] == sorted({done for _, done, _ in calls})
    assert calls[-1] == ("a.bin", len(CONTENT), len(CONTENT))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"checksum": "md5:" + "0" * 32}, "wrong checksum"),
        ({"checksum": "sha256:" + "0" * 64}, "wrong checksum"),
        ({"size": 1000}, "more than the 1000 bytes"),
        ({"urls": ("http://127.0.0.1:9/a.bin",)}, "refused"),
    ],
)
def test_failure_leaves_nothing_behind(server: Server, tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    with pytest.raises(FetchError, match=reason) as caught:
        fetch("x", tmp_path, sources={"x": (server.source("a.bin", CONTENT, **changes),)})
    message = str(caught.value)
    assert "\n" not in message
    assert f"put the file at {tmp_path / 'a.bin'} yourself" in message
    assert files_in(tmp_path) == []


def test_a_connection_that_breaks_off(server: Server, tmp_path: Path) -> None:
    source = server.source("a.bin", CONTENT)
    server.promised["/a.bin"] = len(CONTENT)
    server.files["/a.bin"] = CONTENT[:-1]
    with pytest.raises(FetchError, match=r"a\.bin"):
        fetch("x", tmp_path, sources={"x": (source,)})
    assert files_in(tmp_path) == []


def test_a_wrong_download_keeps_the_file_that_was_there(server: Server, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"mine")
    with pytest.raises(FetchError):
        fetch("x", tmp_path, sources={"x": (server.source("a.bin", CONTENT, checksum="md5:" + "0" * 32),)})
    assert (tmp_path / "a.bin").read_bytes() == b"mine"


def test_the_next_mirror_is_tried(server: Server, tmp_path: Path) -> None:
    server.files["/wrong"] = b"wrong"
    urls = (f"{server.url}/none", f"{server.url}/wrong", f"{server.url}/a.bin")
    (path,) = fetch("x", tmp_path, sources={"x": (server.source("a.bin", CONTENT, urls=urls),)})
    assert path.read_bytes() == CONTENT
    assert server.asked == ["/none", "/wrong", "/a.bin"]


def test_interrupting_leaves_nothing_behind(server: Server, tmp_path: Path) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("x", tmp_path, sources={"x": (server.source("a.bin", CONTENT),)}, progress=interrupt)
    assert files_in(tmp_path) == []


def test_archives_are_unpacked_and_mended(server: Server, tmp_path: Path) -> None:
    archive = tar_gz(**{"set/a.bin": b"aaa", "set/deep/b.bin": b"bb"})
    sources = {"x": (server.source("x.tar.gz", archive),)}
    fetch("x", tmp_path, sources=sources)
    everything = ["set/a.bin", "set/deep/b.bin", "x.tar.gz"]
    assert files_in(tmp_path) == everything
    (tmp_path / "set/a.bin").unlink()
    (tmp_path / "set/deep/b.bin").write_bytes(b"half of it")
    fetch("x", tmp_path, sources=sources)
    assert files_in(tmp_path) == everything
    assert (tmp_path / "set/a.bin").read_bytes() == b"aaa"
    assert (tmp_path / "set/deep/b.bin").read_bytes() == b"bb"
    assert server.asked == ["/x.tar.gz"]


def test_an_archive_cannot_write_elsewhere(server: Server, tmp_path: Path) -> None:
    link = tarfile.TarInfo("link")
    link.type, link.linkname = tarfile.SYMTYPE, str(tmp_path)
    root = tmp_path / "root"
    for content in (tar_gz(**{"../evil": b"x"}), tar_gz(link=link, **{"link/evil": b"x"}), b"no archive"):
        with pytest.raises(FetchError, match=r"cannot unpack .*x\.tar\.gz") as caught:
            fetch("x", root, sources={"x": (server.source("x.tar.gz", content),)})
        assert "\n" not in str(caught.value)
        assert files_in(tmp_path) == ["root/x.tar.gz"]


def test_a_place_that_cannot_be_written(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(FetchError, match=r"cannot write .*: pass another root"):
        fetch("x", tmp_path / "file", sources={"x": (server.source("a.bin", CONTENT),)})


def test_what_is_fetched_can_be_read(server: Server, tmp_path: Path) -> None:
    images = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 28]) + bytes(2 * 784)
    labels = bytes([0, 0, 8, 1, 0, 0, 0, 2, 3, 8])
    contents = [gzip.compress(images), gzip.compress(labels)] * 2
    sources = tuple(server.source(real.path, content) for real, content in zip(SOURCES["mnist"], contents, strict=True))
    fetch("mnist", tmp_path, sources={"mnist": sources})
    for split in ("train", "test"):
        assert mnist(split, tmp_path).labels.tolist() == [3, 8]


def test_every_source_is_named_after_its_reader() -> None:
    for name in SOURCES:
        assert callable(getattr(truelabel.data, name))
    checksums = [source.checksum for sources in SOURCES.values() for source in sources]
    assert len(set(checksums)) == len(checksums) == 12


@pytest.mark.parametrize(
    "changes",
    [
        {"path": "../a"},
        {"path": "/a"},
        {"path": "a\\..\\b"},
        {"path": ""},
        {"checksum": "md5:12"},
        {"checksum": "0" * 32},
        {"checksum": "crc:" + "0" * 32},
        {"urls": ()},
    ],
)
def test_a_wrong_source_is_refused(changes: dict[str, str]) -> None:
    parts = {"path": "a", "urls": ("https://example.org/a",), "checksum": "md5:" + "0" * 32}
    Source(**parts)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=next(iter(changes))):
        Source(**(parts | changes))  # type: ignore[arg-type]


def test_unknown_names_list_the_choices(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="name 'imagenet' is unknown: choose from mnist"):
        fetch("imagenet", tmp_path)
