from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel.data.plain_pickle import read_plain_pickle

# What Python 2 and numpy 1 wrote: byte strings instead of text, and the old module name.
PYTHON_2 = (
    b"\x80\x02}U\x04datacnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85U\x01b\x87R"
    b"(K\x01K\x02K\x02\x86cnumpy\ndtype\nU\x02u1K\x00K\x01\x87R(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xff"
    b"K\x00tb\x89U\x04\x01\xff\x80\x03tbs."
)


class Runs:
    """Pickles as a call, which plain ``pickle.load`` would make."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self.call, self.arguments = call, arguments

    def __reduce__(self) -> Any:
        return self.call, self.arguments


def write(folder: Path, content: bytes) -> Path:
    path = folder / "batch"
    path.write_bytes(content)
    return path


def test_python_2_pickle(tmp_path: Path) -> None:
    content = read_plain_pickle(write(tmp_path, PYTHON_2))
    assert content["data"].dtype == np.uint8
    assert content["data"].tolist() == [[1, 255], [128, 3]]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_agrees_with_pickle_on_plain_content(tmp_path: Path, protocol: int) -> None:
    rng = np.random.default_rng(0)
    content = {
        "data": rng.integers(0, 256, (3, 4), np.uint8),
        "fortran": np.asfortranarray(rng.normal(size=(2, 3))),
        "big-endian": np.arange(3, dtype=">i4"),
        "labels": [1, 2, (3, 4.5, None, True)],
        "text": "é",
        "bytes": b"\xff\0",
    }
    dumped = pickle.dumps(content, protocol)
    read, reference = read_plain_pickle(write(tmp_path, dumped)), pickle.loads(dumped)
    assert list(read) == list(reference)
    for key, value in reference.items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(read[key], value)
        else:
            assert read[key] == value


@pytest.mark.parametrize("protocol", [0, 2, 4, 5])
def test_code_is_refused_and_does_not_run(tmp_path: Path, protocol: int) -> None:
    trap = tmp_path / "trap"
    path = write(tmp_path, pickle.dumps({"data": Runs(os.mkdir, str(trap))}, protocol))
    with pytest.raises(ValueError, match=r"batch is refused, it asks for \w+.mkdir"):
        read_plain_pickle(path)
    assert not trap.exists()
    pickle.loads(path.read_bytes())  # the trap is real: plain pickle falls into it
    assert trap.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps(np.array([{}, 1], object), 2), "an array of type 'O8'"),
        (pickle.dumps(np.array(["a"]), 2), "an array of type 'U1'"),
        (pickle.dumps(np.zeros(1, [("a", "O")]), 2), "an array of type 'V8'"),
        (pickle.dumps({1, 2}, 4), "it holds a set"),
        (pickle.dumps(np.float64, 2), "it asks for numpy.float64"),
        (pickle.dumps(Runs(eval, "1"), 4), "it asks for builtins.eval"),
        (b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93.", "it asks for numpy.ndarray.__init__"),
        (b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R.", "the codec 'zip'"),
        (PYTHON_2.replace(b"K\x02K\x02\x86", b"K\x02K\x09\x86"), "size is not that of its content"),
        (b"\x80\x02cnumpy\nndarray\n.", "it holds a type"),
        (b"\x80\x02]q\x00h\x00a.", "recursion"),
        (PYTHON_2[:-5], "refused"),
        (b"", "refused"),
        (b"not a pickle", "refused"),
    ],
)
def test_everything_else_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        read_plain_pickle(write(tmp_path, content))
    assert "\n" not in str(caught.value)


def test_nested_references_do_not_grow(tmp_path: Path) -> None:
    content: list[Any] = []
    for _ in range(60):
        content = [content, content]  # 2**60 when every reference is followed
    assert len(read_plain_pickle(write(tmp_path, pickle.dumps(content)))) == 2
