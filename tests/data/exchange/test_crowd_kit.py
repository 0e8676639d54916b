from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from truelabel import Annotations
from truelabel.coding import LabelError
from truelabel.data.exchange import ExchangeError, read_crowd_kit, write_crowd_kit
from truelabel.frames import TableError


def test_the_table_is_the_one_crowd_kit_has(tmp_path: Path) -> None:
    frame = pd.DataFrame({"worker": ["w2", "w1", "w1"], "task": ["t1", "t1", "t2"], "label": [1, 0, 1]})
    path = tmp_path / "labels.csv"
    frame.to_csv(path, index=False)
    annotations = read_crowd_kit(path)
    assert annotations.matrix().tolist() == [[0, 1], [1, -1]]
    frame.rename(columns={"worker": "performer"}).to_parquet(tmp_path / "old.parquet")
    assert read_crowd_kit(tmp_path / "old.parquet").annotators.tolist() == ["w1", "w2"]


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_labels_come_back(tmp_path: Path, ending: str) -> None:
    said = Annotations.from_matrix([["cat", None], ["dog", 'a, "b"\n']], annotators=["ann", "eve"])
    path = tmp_path / f"labels{ending}"
    write_crowd_kit(said, path)
    back = read_crowd_kit(path)
    assert back.to_table().to_pylist() == said.to_table().to_pylist()
    reader = pd.read_csv if ending == ".csv" else pd.read_parquet
    assert list(reader(path).columns) == ["task", "worker", "label"]


def test_what_cannot_be_used_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("task,label\na,b\n")
    with pytest.raises(TableError, match="has no column 'performer' for annotator: it has task, label"):
        read_crowd_kit(path)
    path.write_text("task,worker,label\na,b,\n")
    with pytest.raises(ExchangeError, match="labels.csv holds no labels: fill in the column 'label'"):
        read_crowd_kit(path)
    path.write_text("task,worker,label\n../../a,b,c\n")
    with pytest.raises(ExchangeError, match="a row of labels.csv names '../../a', which leads out"):
        read_crowd_kit(path)
    with pytest.raises(LabelError, match="masks do not fit a table"):
        write_crowd_kit(Annotations.from_masks(np.zeros((1, 1, 2, 2), int), classes=2), path)
