from __future__ import annotations

from pathlib import Path

import pytest

from truelabel.data.exchange import ExchangeError, guess_tool


@pytest.mark.parametrize(
    ("name", "content", "tool"),
    [
        ("a.json", '[{"id": 1, "annotations": []}]', "label-studio"),
        ("a.json", '[{"id": 1, "completions": []}]', "label-studio"),
        ("a.json", '{"images": [], "categories": [], "annotations": []}', "coco"),
        ("a.json", '{"0": {"3": 1}}', "peerannot"),
        ("a.xml", "<annotations/>", "cvat"),
        ("a.jsonl", '{"id": 1}', "doccano"),
        ("a.csv", "task,worker,label\na,b,c\n", "crowd-kit"),
    ],
)
def test_the_content_tells(tmp_path: Path, name: str, content: str, tool: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert guess_tool([path]) == tool
    assert guess_tool([path, path]) == tool


def test_a_folder_of_peerannot(tmp_path: Path) -> None:
    (tmp_path / "answers.json").write_text("{}")
    assert guess_tool([tmp_path]) == "peerannot"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", "[]"),
        ("a.json", "[1]"),
        ("a.json", "3"),
        ("a.json", "{}"),
        ("a.csv", "a,b\n1,2\n"),
        ("a.txt", "x"),
        ("a", "x"),
    ],
)
def test_what_may_be_anything_is_not_guessed(tmp_path: Path, name: str, content: str) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ExchangeError, match="nothing tells which tool .* comes from: pass --from one of label-studio"):
        guess_tool([path])


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "b.TGZ"])
def test_archives_are_not_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"PK")
    with pytest.raises(ExchangeError, match="is an archive: unpack it, and name the files in it"):
        guess_tool([path])
