"""Files of results: JSON lines that are only ever appended to, by any number of writers at once."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

fcntl: Any
try:
    fcntl = importlib.import_module("fcntl")
except ImportError:  # Windows has no such locks: appending is then safe for one writer
    fcntl = None

Record = dict[str, Any]
"""One line of a file of results."""


def now() -> str:
    """The time of a record."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


class Records:
    """The records of a paper's runs, in one file.

    A record is written whole, under a lock, and on the disk before the lock is given back. A line that a crash cut
    short is passed over when reading and closed before the next one is written. The last record without an error
    counts for its run; one with an error says why the run has none.

    Args:
        path: of the file; it need not exist.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     records = Records(Path(folder) / "results.jsonl")
        ...     records.append([{"id": "a", "scores": {"accuracy": 0.5}}])
        ...     list(records.finished())
        ['a']
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> list[Record]:
        """All records that are whole, in the order in which they were written."""
        return _whole(self.path.read_bytes()) if self.path.exists() else []

    def finished(self) -> dict[str, Record]:
        """The record of every run that ended well, by its id."""
        return _ended_well(self.read())

    def failed(self) -> dict[str, Record]:
        """The last record of every run that only ever failed, by its id."""
        done = self.finished()
        return {record["id"]: record for record in self.read() if "error" in record and record["id"] not in done}

    def check_writable(self) -> None:
        """Raise a one-line ValueError if nothing could be appended: better now than after hours of training."""
        try:
            with self._open():
                pass
        except OSError as error:
            raise ValueError(
                f"records cannot be written to {self.path} and locked ({error.strerror}): "
                "choose another folder with results="
            ) from error

    def append(self, records: Sequence[Record]) -> None:
        """Write records at the end."""
        with self._open() as file:
            _write(file, records)

    def append_new(self, record: Record) -> bool:
        """Write a record at the end, unless its run has one without an error; whether it was written."""
        with self._open() as file:
            file.seek(0)
            new = record["id"] not in _ended_well(_whole(file.read()))
            if new:
                _write(file, [record])
        return new

    @contextlib.contextmanager
    def _open(self) -> Iterator[IO[bytes]]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file, _locked(file):
            yield file


def _whole(lines: bytes) -> list[Record]:
    records = []
    for line in lines.split(b"\n"):
        # Neither JSON nor, if it was cut within a letter, text.
        with contextlib.suppress(json.JSONDecodeError, UnicodeDecodeError):
            record = json.loads(line.decode())
            if isinstance(record, dict) and "id" in record:
                records.append(record)
    return records


def _ended_well(records: Sequence[Record]) -> dict[str, Record]:
    return {record["id"]: record for record in records if "error" not in record}


def _write(file: IO[bytes], records: Sequence[Record]) -> None:
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    file.seek(0, os.SEEK_END)
    if file.tell():
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            text = "\n" + text
    file.write(text.encode())
    file.flush()
    os.fsync(file.fileno())


@contextlib.contextmanager
def _locked(file: IO[bytes]) -> Iterator[None]:
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_UN)


@contextlib.contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait until no other process is in here with the same file, which is made if need be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file, _locked(file):
        yield


def check_claims(folder: Path) -> None:
    """Raise a one-line ValueError if nothing can be claimed in a folder."""
    try:
        with alone(folder / "check"):
            pass
    except OSError as error:
        raise ValueError(
            f"checkpoints cannot be kept and locked in {folder} ({error.strerror}): choose another folder with work="
        ) from error


@contextlib.contextmanager
def claimed(path: Path) -> Iterator[bool]:
    """Whether this process is the only one that works on something; what it claims ends with the process.

    Args:
        path: of a file that stands for it, made if need be.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        if fcntl is None:
            yield True
            return
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # as other systems say it
            yield False
            return
        try:
            yield True
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
