from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest

from truelabel.data import load_array


def test_npy_and_npz(tmp_path: Path) -> None:
    array = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)
    np.save(tmp_path / "a.npy", array)
    np.savez(tmp_path / "one.npz", only=array)
    np.savez_compressed(tmp_path / "two.npz", a=array, b=np.array(["x"]))
    for read in (
        load_array(tmp_path / "a.npy"),
        load_array(str(tmp_path / "one.npz")),
        load_array(tmp_path / "two.npz", "a"),
    ):
        assert read.dtype == np.float32
        np.testing.assert_array_equal(read, array)
    assert load_array(tmp_path / "two.npz", "b").tolist() == ["x"]


def test_keys_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", train=np.zeros(1), test=np.zeros(1))
    with pytest.raises(ValueError, match="holds 2 arrays: pass key= one of train, test"):
        load_array(tmp_path / "two.npz")
    with pytest.raises(ValueError, match="has no array 'val': it holds train, test"):
        load_array(tmp_path / "two.npz", "val")
    np.save(tmp_path / "a.npy", np.zeros(1))
    with pytest.raises(ValueError, match="key 'train' is for .npz files"):
        load_array(tmp_path / "a.npy", "train")


def test_pickled_content_is_refused(tmp_path: Path) -> None:
    objects = np.array([{"a": 1}, None], object)
    np.save(tmp_path / "a.npy", objects, allow_pickle=True)
    np.savez(tmp_path / "a.npz", objects=objects)
    for name in ("a.npy", "a.npz"):
        with pytest.raises(ValueError, match="holds pickled objects, which can run code"):
            load_array(tmp_path / name)


def test_other_and_damaged_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="does not exist"):
        load_array(tmp_path / "none.npy")
    np.save(tmp_path / "whole.npy", np.arange(100))
    np.savez(tmp_path / "whole.npz", a=np.arange(100))
    with zipfile.ZipFile(tmp_path / "other.npz", "w") as archive:
        archive.writestr("a.txt", "no array")
        archive.writestr("b.npy", "no array either")
    huge = (tmp_path / "whole.npy").read_bytes().replace(b"(100,), }" + 13 * b" ", b"(%d,), }" % 10**15)
    assert b"1000000000000000" in huge
    cases = {
        "text.npy": (b"1,2,3\n", "is not a .npy or .npz file"),
        "empty.npy": (b"", "is not a .npy or .npz file"),
        "cut.npy": ((tmp_path / "whole.npy").read_bytes()[:-9], "is damaged"),
        "head.npy": ((tmp_path / "whole.npy").read_bytes()[:20], "is damaged"),
        "huge.npy": (huge, "is damaged"),
        "cut.npz": ((tmp_path / "whole.npz").read_bytes()[:-30], "damaged .npz file"),
        "other.npz": ((tmp_path / "other.npz").read_bytes(), "'b' in .* is damaged"),
    }
    for name, (content, message) in cases.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ValueError, match=message) as caught:
            load_array(tmp_path / name)
        assert "\n" not in str(caught.value)
