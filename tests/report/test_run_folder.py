"""What a run folder tells, and what it lacks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel import TrueLabelClassifier
from truelabel.report import read_run
from truelabel.training import RunFolderError

from .conftest import CLASSES, PEOPLE, SIZE


def test_all_that_the_contract_names_is_read(trained: Path) -> None:
    run = read_run(trained)
    clf = TrueLabelClassifier.load(trained)
    assert (run.kind, run.method, run.network) == ("arrays", "annotator-confusion", "mlp:32")
    assert run.classes == CLASSES
    assert run.examples == [str(n) for n in range(SIZE)]
    assert [person.name for person in run.people] == PEOPLE
    assert run.confusion is not None
    np.testing.assert_allclose(run.confusion, clf.confusion_, atol=1e-12)
    np.testing.assert_allclose([person.skill for person in run.people], clf.annotator_skill_)
    ends = [(person.low, person.high) for person in run.people]
    np.testing.assert_allclose(np.array(ends, float), clf.annotator_skill_interval_)
    assert run.labels is not None
    assert len(run.labels) == sum(person.labels for person in run.people)
    assert run.quality["noise_rate"] == 0.31
    assert list(run.curves) == ["main"]
    assert [row["train_loss"] for row in run.curves["main"]] == [row["train_loss"] for row in run.history["rows"]]
    assert run.lacks == []


def test_an_old_run_says_what_is_missing(run: Path) -> None:
    (run / "source.json").unlink()
    assert read_run(run).lacks == []  # pictures of its own serve as well
    for name in ("pictures.npy", "quality.json", "examples.csv", "posterior.npz", "confusion.csv"):
        (run / name).unlink()
    (run / "label_quality.csv").write_text(
        'example,annotator,label,probability_right\n"3",ann,zero,0.5\n"1",ann,zero,0\n'
    )
    old = read_run(run)
    assert old.kind is None
    assert old.examples == ["3", "1"]
    assert old.confusion is None
    assert [lack.split(" ")[0] for lack in old.lacks] == [
        "source.json",
        "quality.json",
        "label_quality.csv",
        "confusion.csv",
    ]
    assert "--folds 5" in old.again
    (run / "label_quality.csv").unlink()
    (run / "annotators.csv").unlink()
    bare = read_run(run)
    assert (bare.labels, bare.people, bare.examples) == (None, [], [])


def test_probabilities_in_sample_are_owned_up_to(run: Path) -> None:
    quality = json.loads((run / "quality.json").read_text())
    (run / "quality.json").write_text(json.dumps({**quality, "out_of_sample": False}))
    (lack,) = read_run(run).lacks
    assert "too sure" in lack


def test_a_segmenter_is_told_by_its_model(masks_run: Path) -> None:
    (masks_run / "source.json").unlink()
    run = read_run(masks_run)
    assert run.is_masks
    assert [person.name for person in run.people] == ["ann", "bob"]
    assert run.people[0].low is None
    assert run.again == "truelabel train DATA --out RUN --folds 5"


@pytest.mark.parametrize(
    ("values", "written"), [([False, True], ["false", "true"]), ([1.0, 2.5], ["1", "2.5"]), ([1, "a"], ["1", "a"])]
)
def test_classes_are_called_as_in_the_tables(values: list[Any], written: list[str], run: Path) -> None:
    (run / "confusion.csv").unlink()
    model = json.loads((run / "model.json").read_text())
    (run / "model.json").write_text(json.dumps({**model, "classes": values}))
    assert read_run(run).classes == written


def test_the_fingerprint_is_that_of_model_and_labels(run: Path, trained: Path) -> None:
    first = read_run(run).fingerprint
    assert first == read_run(trained).fingerprint
    with (run / "label_quality.csv").open("a") as file:
        file.write('"0","ann","zero",0.5,"zero",0.5\n')
    assert read_run(run).fingerprint != first


def test_what_is_no_run_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunFolderError, match=r"none is no run folder: name one that `truelabel train` wrote"):
        read_run(tmp_path / "none")
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(RunFolderError, match="holds no model yet"):
        read_run(tmp_path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("model.json", "[]"),
        ("source.json", "{"),
        ("quality.json", "3"),
    ],
)
def test_damaged_files_are_named(name: str, text: str, run: Path) -> None:
    (run / name).write_text(text)
    with pytest.raises(RunFolderError, match=Path(name).name) as raised:
        read_run(run)
    assert "\n" not in str(raised.value)
