from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truelabel.data.exchange.entries import (
    ExchangeError,
    as_list,
    as_number,
    as_object,
    as_whole,
    entry,
    read_json,
    read_json_lines,
    several,
)


def written(folder: Path, content: bytes) -> Path:
    path = folder / "a.json"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a.json is damaged"),
        (b"{", "a.json is damaged"),
        (b"\xff\xfe", "a.json is not UTF-8 text"),
        (b"[NaN]", r"NaN is no number"),
        (b"[-Infinity]", r"-Infinity is no number"),
        (b'{"a": 1, "a": 2}', "'a' stands twice in one object"),
        (b"[" * 100_000, "nested too deeply"),
        (b"1" * 5000, "a.json is damaged"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ExchangeError, match=message) as error:
        read_json(written(tmp_path, content))
    assert "\n" not in str(error.value)


def test_a_mark_of_byte_order_is_no_damage(tmp_path: Path) -> None:
    assert read_json(written(tmp_path, b"\xef\xbb\xbf[1]")) == [1]


def test_lines_are_counted_and_empty_ones_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, b'1\r\n\n{"a": "\xe2\x80\xa8"}\n')
    assert list(read_json_lines(path)) == [("line 1 of a.json", 1), ("line 3 of a.json", {"a": "\u2028"})]
    path.write_text("1\n{")
    with pytest.raises(ExchangeError, match="line 2 of a.json is damaged"):
        list(read_json_lines(path))


def test_files_must_be_there(tmp_path: Path) -> None:
    path = written(tmp_path, b"1")
    assert several(path) == several([str(path)]) == [path]
    with pytest.raises(FileNotFoundError, match="there is no file .*none.json: check the path"):
        several([path, tmp_path / "none.json"])
    with pytest.raises(ExchangeError, match="no file is named"):
        several([])


@pytest.mark.parametrize("value", [None, 1, "a", [], True, 1.5])
def test_kinds_are_told_apart(value: Any) -> None:
    with pytest.raises(ExchangeError, match="x is .*, not an object: export it again"):
        as_object(value, "x")
    if value != []:
        with pytest.raises(ExchangeError, match="x is .*, not a list: export it again"):
            as_list(value, "x")


def test_numbers() -> None:
    assert as_whole(3.0, "x") == 3
    assert as_number(2, "x") == 2.0
    whole: Any
    for whole in (-1, 1.5, True, "3", None, float("inf"), []):
        with pytest.raises(ExchangeError, match="x is .*, not a whole number of at least 0"):
            as_whole(whole, "x")
    for number in (True, "3", None, float("nan"), float("inf"), 1e300, 10**400):
        with pytest.raises(ExchangeError, match="x is .*, not a coordinate"):
            as_number(number, "x")


def test_what_is_not_there_is_named() -> None:
    assert entry({"a": 0}, "a", "x") == 0
    with pytest.raises(ExchangeError, match="x has no 'b': export it again with it"):
        entry({"b": None}, "b", "x")
