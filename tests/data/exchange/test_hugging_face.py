from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from truelabel.data.exchange import ExchangeError, from_datasets


class Split(dict[str, Any]):
    """As much of a ``datasets.Dataset`` as is needed: columns by name, and their features."""

    def __init__(self, columns: dict[str, list[Any]], **features: Any) -> None:
        super().__init__(columns)
        self.column_names: Any = list(columns)
        self.features = features


CATS = SimpleNamespace(names=["cat", "dog", "cow"])


def test_a_column_of_class_labels() -> None:
    annotations = from_datasets(Split({"label": [1, 0, -1, None]}, label=CATS))
    assert annotations.classes == ("cat", "dog", "cow")
    assert annotations.matrix().tolist() == [[1], [0], [-1], [-1]]


def test_a_column_for_each_annotator() -> None:
    split = Split({"file": ["a.png", "b.png"], "ann": ["x", "y"], "eve": [None, "x"]})
    annotations = from_datasets(split, ["ann", "eve"], example="file")
    assert annotations.examples.tolist() == ["a.png", "b.png"]
    assert annotations.annotators.tolist() == ["ann", "eve"]
    assert annotations.matrix().tolist() == [[0, -1], [1, 0]]


def test_lists_of_labels_with_and_without_names() -> None:
    split = Split({"labels": [[0, 1], [2, None]], "who": [["w7", "w1"], ["w1", "w9"]]})
    split.features = {"labels": SimpleNamespace(feature=CATS)}
    named = from_datasets(split, "labels", annotator="who").to_table().to_pylist()
    assert [(row["example"], row["annotator"], row["label"]) for row in named] == [
        (0, "w1", "dog"),
        (0, "w7", "cat"),
        (1, "w1", "cow"),
    ]
    assert from_datasets(split, "labels").annotators.tolist() == ["labels 0", "labels 1"]


def test_a_long_table_repeats_examples() -> None:
    split = Split({"task": [5, 5, 6], "worker": ["a", "b", "a"], "label": ["x", "y", "y"]})
    assert from_datasets(split, example="task", annotator="worker").matrix().tolist() == [[0, 1], [1, -1]]


@pytest.mark.parametrize(
    ("split", "options", "message"),
    [
        (Split({"y": [1]}), {}, "dataset has no column 'label': it has y"),
        (Split({"label": [1]}), {"example": "id"}, "dataset has no column 'id'"),
        (Split({"label": [7]}, label=CATS), {}, "row 1 of column 'label' has label 7, but there are 3 classes"),
        (Split({"label": [0.5]}), {}, "row 1 of column 'label' has a float, which is no label"),
        (Split({"label": [None]}), {}, "column 'label' holds no labels"),
        (Split({"label": [[1]], "who": [["a", "b"]]}), {"annotator": "who"}, "has 1 labels by 2 annotators"),
        (Split({"a": [1], "b": [1]}, a=CATS), {"labels": ["a", "b"]}, "columns a, b have different classes"),
        (Split({"a": [1], "b": [1]}), {"labels": ["a", "b"], "annotator": "a"}, "is for one column of labels, not 2"),
        (Split({"label": [1], "id": ["../x"]}), {"example": "id"}, "leads out of the data folder"),
        ([1, 2], {}, "dataset must be a datasets.Dataset with columns, not list"),
    ],
)
def test_what_cannot_be_used_is_one_line(split: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ExchangeError, match=message):
        from_datasets(split, **options)


def test_several_splits_are_told_apart() -> None:
    both = Split({})
    both.column_names = {"train": ["label"], "test": ["label"]}
    with pytest.raises(ExchangeError, match=r"dataset holds several splits: pass one of them, like dataset\['train'\]"):
        from_datasets(both)


def test_without_the_package_a_folder_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(ImportError, match="needs Hugging Face's datasets: pip install datasets"):
        from_datasets(tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("datasets") is None, reason="datasets is not installed")
def test_the_real_package(tmp_path: Path) -> None:
    datasets: Any = importlib.import_module("datasets")
    features = datasets.Features(
        {"label": datasets.ClassLabel(names=["no", "yes"]), "many": datasets.Sequence(datasets.ClassLabel(2))}
    )
    real = datasets.Dataset.from_dict({"label": [1, 0, None], "many": [[0, 1], [1], []]}, features=features)
    real.save_to_disk(tmp_path / "saved")
    for source in (real, tmp_path / "saved"):
        assert from_datasets(source).matrix().tolist() == [[1], [0], [-1]]
    assert from_datasets(real, "many").counts.tolist() == [2, 1, 0]
    with pytest.raises(ExchangeError, match="several splits"):
        from_datasets(datasets.DatasetDict(train=real))
