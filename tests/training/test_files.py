from __future__ import annotations

from pathlib import Path

import pytest
import torch

from truelabel.training.files import (
    RunFolderError,
    read_json,
    read_tensors,
    write_json,
    write_tensors,
)


def test_tensors_round_trip_with_every_kind(tmp_path: Path) -> None:
    shared = torch.arange(6.0)
    tensors = {
        "scalar": torch.tensor(3),
        "bytes": torch.arange(5, dtype=torch.uint8),
        "view": shared.view(2, 3).T,
        "tied": shared,
        "double": torch.tensor([1e-300], dtype=torch.double),
        "empty": torch.empty(0),
    }
    write_tensors(tmp_path / "t.safetensors", tensors, {"epoch": 3, "rows": [{"a": 0.1}]})
    read, note = read_tensors(tmp_path / "t.safetensors")
    assert note == {"epoch": 3, "rows": [{"a": 0.1}]}
    assert set(read) == set(tensors)
    for name, value in tensors.items():
        assert read[name].dtype == value.dtype
        assert torch.equal(read[name], value)


def test_broken_files_get_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.safetensors").write_bytes(b"garbage")
    (tmp_path / "t.json").write_text("{")
    for read, name in ((read_tensors, "t.safetensors"), (read_json, "t.json"), (read_json, "none.json")):
        with pytest.raises(RunFolderError, match=f"cannot read .*{name}") as caught:
            read(tmp_path / name)
        assert "\n" not in str(caught.value)


def test_json_keeps_letters(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"klasse": "Ähre"})
    assert "Ähre" in (tmp_path / "a.json").read_text(encoding="utf-8")
    assert read_json(tmp_path / "a.json") == {"klasse": "Ähre"}
