"""``truelabel predict``: what it refuses. What it answers is tested with ``train``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from truelabel import TrueLabelClassifier
from truelabel.frames import Table

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classifier that was saved from Python, not trained from files."""
    folder = tmp_path_factory.mktemp("run")
    points = np.random.default_rng(0).normal(size=(20, 2))
    TrueLabelClassifier(network="mlp:4", epochs=1, device="cpu", random_state=0).fit(points, points[:, 0] > 0).save(
        folder
    )
    return folder


def test_a_classifier_saved_from_python_can_predict(cli: Cli, run: Path, shelf: Path, tmp_path: Path) -> None:
    code, _, errors = cli("predict", run, shelf / "x.npy", "--out", tmp_path / "answers.parquet")
    assert (code, errors) == (0, "")
    answers = Table(tmp_path / "answers.parquet")
    assert answers.columns == ("example", "label", "probability", "probability_False", "probability_True")
    probs = TrueLabelClassifier.load(run).predict_proba(np.load(shelf / "x.npy"))
    assert answers.column("label").to_pylist() == (probs[:, 1] > 0.5).tolist()
    assert answers.column("probability_True").to_pylist() == probs[:, 1].tolist()


def test_the_examples_of_another_table_may_be_named_by_another_column(
    cli: Cli, run: Path, shelf: Path, tmp_path: Path
) -> None:
    code, _, errors = cli("predict", run, shelf / "x.csv", "--id", "task", "--out", tmp_path / "answers.csv")
    assert (code, errors) == (0, "")
    names = Table(tmp_path / "answers.csv").column("example").to_pylist()
    assert names == Table(shelf / "x.csv").column("task").to_pylist()


@pytest.mark.parametrize(
    ("data", "out", "message"),
    [
        ("x.npy", "answers.txt", "must end in .csv or .parquet"),
        ("x.npy", "answers", "must end in .csv or .parquet"),
        ("none.csv", "answers.csv", "there is no file or folder none.csv: check the path\n"),
        ("nowhere.npy", "answers.csv", "there is no file or folder nowhere.npy: check the path\n"),
        ("none", "answers.csv", "there is no file or folder none: check the path\n"),
        ("nan.npy", "answers.csv", "contains NaN or infinity in row 5"),
        ("x.csv", "answers.csv", "column 'task' is text, not numeric, and has 60 values in 60 rows"),
        ("labels.npy", "answers.csv", "X has 3 features, but TrueLabelClassifier is expecting 2 features"),
        ("others", "answers.csv", "X has images of shape"),
        ("empty", "answers.csv", "empty holds no images"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    data: str,
    out: str,
    message: str,
    cli: Cli,
    run: Path,
    shelf: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(shelf)
    code, printed, errors = cli("predict", run, data, "--out", tmp_path / out)
    assert (code, printed) == (1, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden files count


def test_what_is_no_run_or_no_table_is_refused(cli: Cli, run: Path, shelf: Path, tmp_path: Path) -> None:
    code, _, errors = cli("predict", shelf, shelf / "x.npy", "--out", tmp_path / "answers.csv")
    assert code == 1
    assert (
        errors
        == f"error: {shelf} holds no trained model: there is no model.json in it; name one that was trained into\n"
    )
    code, _, errors = cli("predict", tmp_path / "none", shelf / "x.npy", "--out", tmp_path / "answers.csv")
    assert (code, errors) == (1, f"error: there is no file or folder {tmp_path / 'none'}: check the path\n")
    folder = tmp_path / "folder.csv"
    folder.mkdir()
    code, _, errors = cli("predict", run, shelf / "x.npy", "--out", folder)
    assert code == 1
    assert errors == f"error: --out {folder} is a folder: name a file in it\n"
    code, _, errors = cli("predict", run, shelf / "x.csv", "--text", "task", "--out", tmp_path / "answers.csv")
    assert code == 1
    assert errors == f"error: --text is for runs that learned from texts, but {run} did not: leave it out\n"
    for option in ("--readers", "--errors", "--probabilities"):
        code, _, errors = cli("predict", run, shelf / "x.npy", "--out", tmp_path / "answers.csv", option)
        assert code == 1
        assert errors == f"error: {option} is for masks, but {run} gives one class an example: leave it out\n"


@pytest.mark.parametrize("text", ["{", "[]", "{}"])
def test_a_damaged_record_of_inputs_is_one_line(text: str, cli: Cli, run: Path, shelf: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    copy.mkdir()
    for path in run.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    (copy / "inputs.json").write_text(text)
    code, _, errors = cli("predict", copy, shelf / "x.npy", "--out", tmp_path / "answers.csv")
    assert code == 1
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
