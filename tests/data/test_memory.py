"""Tables that are too large are refused before they are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from truelabel.data.memory import _free, require_memory
from truelabel.frames import Table, TableError


def test_a_text_file_may_take_half_of_what_is_free(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + "1,2\n" * 249)  # 1000 bytes
    require_memory(Table(path), ["a"], free=2000)
    with pytest.raises(TableError, match="x.csv takes 0.0 GB of memory, but 0.0 GB are free: train on fewer rows"):
        require_memory(Table(path), ["a"], free=1999)


def test_parquet_counts_as_it_is_unpacked_and_by_column(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"a": [0] * 100_000, "b": ["x"] * 100_000}), path)
    assert path.stat().st_size < 10_000
    for columns, bytes_needed in ((["a"], 800_000), (["a", "b"], 1_600_000)):
        require_memory(Table(path), columns, free=2 * bytes_needed)
        with pytest.raises(TableError, match="are free"):
            require_memory(Table(path), columns, free=2 * bytes_needed - 1)


def test_what_lies_in_memory_already_is_never_refused() -> None:
    require_memory(Table({"a": [1, 2]}), ["a"], free=0)


def test_this_machine_tells_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    told = _free()
    assert told is not None
    assert told > 10_000_000
    monkeypatch.setattr(Path, "read_text", lambda *_, **__: "no such line")
    total = _free()  # what there is in all
    assert total is not None
    assert total > 10_000_000
