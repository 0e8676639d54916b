from __future__ import annotations

from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.data.exchange.entries import ExchangeError
from truelabel.data.exchange.names import alike, as_numbers, picture_name, plain_name, safe_name, stems

CLIMBING = [
    *("../../x", "a/../../x", "..", "..\\x", "a\\..\\x", "/etc/passwd", "\\x", "C:\\x", "c:x", "\\\\host\\share\\x"),
    *("//host/x",),
]
DAMAGED = ["", "  ", "a\0b", "a\nb", "\ud800"]


@pytest.mark.parametrize("name", CLIMBING)
def test_names_that_lead_out_are_refused(name: str) -> None:
    with pytest.raises(ExchangeError, match="task 1 names .* which leads out of the data folder: rename it"):
        safe_name(name, "task 1")
    with pytest.raises(ExchangeError):
        picture_name(name, "task 1")
    with pytest.raises(ExchangeError):
        picture_name(f"/data/local-files/?d={name}", "task 1")


@pytest.mark.parametrize("name", DAMAGED)
def test_names_that_cannot_be_written_are_refused_in_one_line(name: str) -> None:
    with pytest.raises(ExchangeError, match="empty or no plain text") as error:
        safe_name(name, "task 1")
    assert "\n" not in str(error.value)
    str(error.value).encode()


@given(st.text())
def test_a_name_that_passes_stays_below_any_folder(name: str) -> None:
    try:
        safe_name(name, "here")
    except ExchangeError:
        return
    for kind, top in ((PurePosixPath, "/data"), (PureWindowsPath, "D:\\data")):
        joined = kind(top) / name
        assert joined.is_relative_to(kind(top))
        assert ".." not in joined.parts


@pytest.mark.parametrize(
    ("reference", "name"),
    [
        ("a.png", "a.png"),
        ("ward 3/a.png", "ward 3/a.png"),
        ("/data/local-files/?d=ward%203/a.png", "ward 3/a.png"),
        ("/data/upload/12/0f3a9c21-a-b.png", "a-b.png"),
        ("/data/upload/12/plain.png", "plain.png"),
        ("https://host.org/x/a%20b.png?token=7", "a b.png"),
        ("s3://bucket/ward/a.png", "ward/a.png"),
        ("gs://bucket/a.png", "a.png"),
    ],
)
def test_addresses_become_names_in_a_folder(reference: str, name: str) -> None:
    assert picture_name(reference, "task 1") == name


@pytest.mark.parametrize("reference", ["https://host/%2e%2e", "s3://bucket/%2e%2e/%2e%2e/x.png", "http://[x/a.png"])
def test_addresses_that_lead_out_are_refused(reference: str) -> None:
    with pytest.raises(ExchangeError):
        picture_name(reference, "task 1")


def test_names_are_of_one_type() -> None:
    assert alike([1, 2]) == [1, 2]
    assert alike([1, "b"]) == ["1", "b"]
    assert as_numbers(["0", "-3", "12"]) == [0, -3, 12]
    assert as_numbers(["0", "007"]) == ["0", "007"]
    assert as_numbers(["9" * 30]) == ["9" * 30]
    assert plain_name(7, "x") == 7
    value: Any
    for value in (True, 1.5, None, [], 1 << 70):
        with pytest.raises(ExchangeError):
            plain_name(value, "x")


def test_files_are_annotators() -> None:
    assert stems([Path("a/ann.xml"), Path("b/eve.xml")]) == ["ann", "eve"]
    with pytest.raises(ExchangeError, match="two files are called 'ann', and files are annotators: rename one"):
        stems([Path("a/ann.xml"), Path("b/ann.xml")])
