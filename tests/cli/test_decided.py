from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from truelabel import Annotations
from truelabel.cli.decided import apply_decisions
from truelabel.cli.sources import Inputs, Reading
from truelabel.frames import Table

Cli = Callable[..., tuple[int, str, str]]
HEADER = "example,annotator,label,decision,new_label\n"


def material() -> tuple[Inputs, Annotations]:
    annotations = Annotations.from_table({"task": [0, 0, 1, 2], "worker": list("aeaa"), "label": list("xyxy")})
    return Inputs(np.arange(6.0).reshape(3, 2), [0, 1, 2], Reading()), annotations


def written(folder: Path, *rows: str) -> Path:
    path = folder / "decisions.csv"
    path.write_text(HEADER + "".join(f"{row}\n" for row in rows))
    return path


def test_without_a_review_all_stays_as_it_is() -> None:
    inputs, annotations = material()
    assert apply_decisions(inputs, annotations, None, None) == (inputs, annotations)


def test_an_example_without_labels_goes_with_its_inputs(tmp_path: Path) -> None:
    path = written(tmp_path, "1,a,x,remove,", "0,e,y,remove,")
    inputs, annotations = apply_decisions(*material(), path, None)
    assert inputs.names == annotations.examples.tolist() == [0, 2]
    assert inputs.values.tolist() == [[0, 1], [4, 5]]
    assert annotations.annotators.tolist() == ["a"]


def test_wrong_labels_are_replaced_or_stay_beside_the_reviewers(tmp_path: Path) -> None:
    path = written(tmp_path, "0,e,y,accept,x")
    assert apply_decisions(*material(), path, "replace")[1].matrix()[0].tolist() == [0, 0, 0]
    assert apply_decisions(*material(), path, "add")[1].matrix()[0].tolist() == [0, 1, 0]


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="--review must be replace or add, got 'maybe'"):
        apply_decisions(*material(), written(tmp_path), "maybe")
    with pytest.raises(ValueError, match="--review says what to do with --decisions"):
        apply_decisions(*material(), None, "add")


def test_train_uses_decisions(cli: Cli, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    np.save(tmp_path / "x.npy", rng.normal(size=(40, 3)) + 3 * y[:, None])
    np.save(tmp_path / "y.npy", np.where(np.arange(40) == 4, 1, y))
    path = written(tmp_path, "4,,1,accept,0", "7,,1,keep,")
    run = tmp_path / "run"
    order = ["train", tmp_path / "x.npy", tmp_path / "y.npy", "--out", run, "--epochs", 2, "--decisions", path]
    code, _, errors = cli(*order)
    assert (code, errors) == (0, "")
    quality = Table(run / "label_quality.csv")
    rows = list(zip(*(quality.text(name) for name in ("example", "annotator", "label")), strict=True))
    assert [row for row in rows if row[0] in ("4", "7")] == [
        ("4", "0", "0"),
        ("4", "reviewer", "0"),
        ("7", "0", "1"),
        ("7", "reviewer", "1"),
    ]
    assert json.loads((run / "run.json").read_text())

    path.write_text(HEADER + "4,,3,accept,0\n")
    code, _, errors = cli(*order)
    assert code == 1
    assert errors.startswith("error: label '3' in row 1 of decisions.csv is not among the classes")
    assert cli("train", tmp_path, "--out", run, "--decisions", path)[2].startswith("error: --decisions is for labels")
