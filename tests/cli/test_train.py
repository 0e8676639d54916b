"""``truelabel train``, and predictions with what it learned."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from truelabel import Annotations, TrueLabelClassifier
from truelabel.frames import Table

Cli = Callable[..., tuple[int, str, str]]

QUICK = ("--network", "mlp:16", "--epochs", 15, "--batch-size", 16, "--learning-rate", 0.02, "--device", "cpu")
RUN = [
    "annotators.csv",
    "confusion.csv",
    "examples.csv",
    "folds",
    "inputs.json",
    "label_quality.csv",
    "main",
    "model.json",
    "model.safetensors",
    "posterior.npz",
    "quality.json",
    "run.json",
    "source.json",
]


def column(path: Path, name: str) -> list[object]:
    values: list[object] = Table(path).column(name).to_pylist()
    return values


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    ("data", "labels", "options"),
    [
        ("x.csv", "labels.csv", ()),
        ("x.parquet", "labels.parquet", ("--method", "majority-vote", "--option", "ties=lowest")),
        ("x.csv", "single.csv", ("--classes", "dog, cat")),
        ("x.csv", "labels.csv", ("--id", "task", "--features", "north,east", "--example", "task", "--label", "label")),
    ],
    ids=["csv", "parquet", "without annotators", "named columns"],
)
def test_learn_from_a_table_and_answer_for_it(
    data: str, labels: str, options: tuple[object, ...], cli: Cli, shelf: Path, tmp_path: Path
) -> None:
    run, out = tmp_path / "run", tmp_path / "new" / f"answers{Path(data).suffix}"
    code, printed, errors = cli("train", shelf / data, shelf / labels, "--out", run, *QUICK, *options)
    assert (code, errors) == (0, "")
    assert f"Wrote the run to {run}" in printed.replace("\n", "")
    assert sorted(path.name for path in run.iterdir() if path.suffix != ".safetensors" or path.stem == "model") == RUN
    code, printed, errors = cli("predict", run, shelf / data, "--out", out)
    assert (code, errors) == (0, "")
    assert "Wrote 60 predictions" in printed

    ids = column(shelf / data, "task")
    answers = Table(out)
    order = ["dog", "cat"] if "--classes" in options else ["cat", "dog"]
    assert answers.columns == ("example", "label", "probability", *(f"probability_{name}" for name in order))
    assert column(out, "example") == ids
    truth = [("cat", "dog")[int(str(name)[1:]) % 2] for name in ids]
    assert np.mean([a == b for a, b in zip(column(out, "label"), truth, strict=True)]) > 0.95
    features = ["north", "east"] if "--features" in options else ["east", "north"]
    X = np.column_stack([np.array(column(shelf / data, name), np.float32) for name in features])
    probs = TrueLabelClassifier.load(run).predict_proba(X)
    written = np.column_stack([np.array(column(out, f"probability_{name}"), float) for name in order])
    assert np.allclose(written, probs, rtol=0, atol=1e-12)
    assert np.allclose(np.array(column(out, "probability"), float), probs.max(-1))
    assert column(out, "label") == [order[k] for k in probs.argmax(-1)]


def test_what_the_run_says_of_labels_and_annotators(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    assert cli("train", shelf / "x.csv", shelf / "labels.csv", "--out", tmp_path, *QUICK)[0] == 0
    annotations = Annotations.from_table(shelf / "labels.csv", examples=column(shelf / "x.csv", "task"))  # type: ignore[arg-type]
    X = np.column_stack([np.array(column(shelf / "x.csv", name), np.float32) for name in ("east", "north")])
    classifier = TrueLabelClassifier.load(tmp_path)
    quality = tmp_path / "label_quality.csv"
    given = annotations.to_table()
    for name in ("example", "annotator", "label"):
        assert column(quality, name) == given.column(name).to_pylist()
    right = np.array(column(quality, "probability_right"), float)
    assert np.allclose(right, classifier.label_quality(X, annotations), atol=1e-12)
    assert column(tmp_path / "annotators.csv", "annotator") == ["ann", "bob", "cid"]
    assert column(tmp_path / "annotators.csv", "labels") == annotations.workload.tolist()
    skill = np.array(column(tmp_path / "annotators.csv", "skill"), float)
    assert np.allclose(skill, classifier.annotator_skill_)
    assert skill[1] < skill[0]


def test_learn_from_arrays(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    for labels in ("labels.npy", "vector.npy"):
        run, out = tmp_path / labels, tmp_path / f"{labels}.csv"
        code, _, errors = cli("train", shelf / "x.npy", shelf / labels, "--out", run, *QUICK)
        assert (code, errors) == (0, "")
        assert cli("predict", run, shelf / "x.npy", "--out", out)[0] == 0
        assert column(out, "example") == list(range(60))
        assert np.mean(np.array(column(out, "label")) == np.arange(60) % 2) > 0.95


def test_learn_from_pictures_and_answer_for_others_of_another_size(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    run, out = tmp_path / "run", tmp_path / "answers.csv"
    options = ("--grey", "--epochs", 15, "--batch-size", 8, "--learning-rate", 0.005, "--device", "cpu")
    code, _, errors = cli("train", shelf / "pictures", shelf / "pictures.csv", "--out", run, *options)
    assert (code, errors) == (0, "")
    assert json.loads((run / "inputs.json").read_text())["size"] == [10, 12]
    code, _, errors = cli("predict", run, shelf / "others", "--out", out)
    assert (code, errors) == (0, "")
    names = ["01.png", "02.png", "04.png", "05.png", "deep/00.png", "deep/03.png"]
    assert column(out, "example") == names
    assert column(out, "label") == [("dark", "bright")[int(name[-6:-4]) % 2] for name in names]
    resized = [Image.open(shelf / "others" / name).convert("L").resize((12, 10), 2) for name in names]
    probs = TrueLabelClassifier.load(run).predict_proba(np.stack([np.asarray(image) for image in resized])[:, None])
    assert np.allclose(np.array(column(out, "probability"), float), probs.max(-1), atol=1e-6)


def test_pictures_may_be_brought_to_a_size(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    options = ("--size", "6x8", "--network", "mlp:4", "--epochs", 1, "--device", "cpu")
    assert cli("train", shelf / "pictures", shelf / "pictures.csv", "--out", tmp_path, *options)[0] == 0
    assert json.loads((tmp_path / "model.json").read_text())["input_shape"] == [3, 6, 8]


def test_examples_without_labels_may_be_left_out(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    files = (shelf / "x.csv", shelf / "without-e07.csv")
    assert cli("train", *files, "--out", tmp_path / "run", *QUICK)[0] == 1
    assert cli("train", *files, "--out", tmp_path / "run", *QUICK, "--drop-unlabelled")[0] == 0
    assert "e07" not in column(tmp_path / "run" / "label_quality.csv", "example")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["examples"] == 59
    assert cli("predict", tmp_path / "run", shelf / "x.csv", "--out", tmp_path / "all.csv")[0] == 0
    assert "e07" in column(tmp_path / "all.csv", "example")


def test_the_label_is_no_feature_when_it_stands_in_the_same_table(cli: Cli, tmp_path: Path) -> None:
    rows = [f"{n},{n % 7},{n % 2}" for n in range(40)]
    (tmp_path / "all.csv").write_text("\n".join(["task,size,label", *rows]))
    arguments = ("train", tmp_path / "all.csv", tmp_path / "all.csv", "--out", tmp_path / "run")
    assert cli(*arguments, *QUICK)[0] == 0
    assert json.loads((tmp_path / "run" / "inputs.json").read_text())["columns"] == ["size"]


def test_a_finished_run_is_not_repeated(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    arguments = ("train", shelf / "x.csv", shelf / "labels.csv", "--out", tmp_path, *QUICK)
    code, first, _ = cli(*arguments)
    assert code == 0
    before = snapshot(tmp_path)
    trained = {path: path.stat().st_mtime_ns for path in (tmp_path / "main").iterdir()}
    code, second, _ = cli(*arguments)
    assert (code, second) == (0, first)
    assert snapshot(tmp_path) == before
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "main").iterdir()} == trained
    code, _, errors = cli(*arguments, "--seed", 1)
    assert code == 1
    assert errors.startswith(f"error: {tmp_path} holds another run (seed is ")
    assert snapshot(tmp_path) == before


def test_training_does_not_depend_on_the_folder(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        assert cli("train", shelf / "x.npy", shelf / "labels.npy", "--out", tmp_path / name, *QUICK)[0] == 0
    first, second = (snapshot(tmp_path / name) for name in ("a", "b"))
    assert first.keys() == second.keys()
    assert first["main/best.safetensors"] == second["main/best.safetensors"]
    assert first["label_quality.csv"] == second["label_quality.csv"]


NO_GPU = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("garbage.npy labels.npy", "garbage.npy is not a .npy or .npz file"),
        ("x.csv garbage.parquet", "cannot read garbage.parquet"),
        ("x.csv latin.csv", "is not UTF-8 text"),
        ("none.csv labels.csv", "there is no file or folder none.csv: check the path\n"),
        ("none.npy labels.npy", "none.npy must hold (examples, ...), got shape (0, 2)"),
        ("none", "there is no file or folder none: check the path\n"),
        ("x.npy nowhere.npy", "there is no file or folder nowhere.npy: check the path\n"),
        ("x.csv none.csv", "there is no file or folder none.csv: check the path\n"),
        ("labels.xlsx labels.csv", "labels.xlsx is not a table that can be read: expected a file ending in .csv"),
        ("x.csv labels.xlsx", "labels.xlsx is not a table that can be read: expected a file ending in .csv"),
        ("x.csv labels.csv --label nope", "has no column 'nope' for label: it has task, worker, label"),
        ("x.csv labels.csv --id nope", "names 'nope', which is not there: choose from task, east, north"),
        ("x.csv labels.csv --features east,nope", "names 'nope', which is not there"),
        ("x.csv labels.csv --drop nope", "names 'nope', which is not there"),
        ("x.csv labels.csv --classes cat,cow", "label 'dog' in row"),
        ("x.csv without-e07.csv", "example e07 (row "),
        ("x.npy silent.npy", "annotator 2 (row 3) is without labels"),
        ("x.csv one-class.csv", "all labels are of one class, 'cat'"),
        ("nan.csv labels.csv", "column 'north' has no value in row 1"),
        ("nan.npy labels.npy", "nan.npy contains NaN or infinity in row 5: remove or fill it"),
        ("text.csv labels.csv", "column 'north' is string, not numeric"),
        ("text.npy labels.npy", "text.npy must hold numbers"),
        ("x.csv empty.csv", "empty.csv is empty"),
        ("x.csv rows.csv", "rows.csv has no rows"),
        ("features.csv labels.csv", "features.csv has no rows"),
        ("x.csv unknown-example.csv", "example 'nobody' in row 1 of unknown-example.csv is outside"),
        ("twice.csv labels.csv", "id 'e01' of column 'task' is in rows 1 and"),
        ("x.npy masks.npy", "masks.npy holds masks, of shape (4, 2, 3, 3): this command is for one label an example"),
        ("x.npy short.npy", "short.npy has 50 rows, but x.npy has 60 examples"),
        ("empty pictures.csv", "is not in"),
        ("pictures no-picture.csv", "picture 'none.png' is not in"),
        ("broken one-picture.csv", "cannot be read"),
        ("pictures pictures.csv --size 0x9", "--size must be like 64 or 48x64, got '0x9'"),
        ("pictures pictures.csv --size big", "--size must be like 64 or 48x64, got 'big'"),
        ("x.csv labels.csv --method nope", "there is no method 'nope': choose from "),
        ("x.csv labels.csv --option ties=lowest", "cross-entropy has no option 'ties': it has none"),
        ("x.csv labels.csv --method majority-vote --option tie=1", "has no option 'tie': it has base, soft, ties"),
        ("x.csv labels.csv --method majority-vote --option ties=9", "ties must be one of random, lowest, got 9"),
        ("x.csv labels.csv --method majority-vote --option ties", "--option must be name=value, got 'ties'"),
        ("x.csv labels.csv --network nope", "unknown network 'nope': choose from auto"),
        ("x.csv labels.csv --network lenet-5", "got 2 flat features"),
        ("x.csv labels.csv --epochs 0", "epochs must be a whole number of at least 1, got 0"),
        ("x.csv labels.csv --validation 1", "validation must lie in [0, 1), got 1.0"),
        ("x.csv labels.csv --schedule step --step-epochs 4,x", "--step-epochs must be like 40,80, got '4,x'"),
        ("x.csv labels.csv --optimizer nope", "optimizer must be one of adam, adamw, sgd, got 'nope'"),
        ("x.csv labels.csv --device nope", "device must be one of auto, cpu"),
        pytest.param("x.csv labels.csv --device cuda", "device 'cuda' with 1 processes", marks=NO_GPU),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    arguments: str, message: str, cli: Cli, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shelf)
    there = sorted(os.listdir(shelf))  # noqa: PTH208 - hidden files count
    code, printed, errors = cli("train", *arguments.split(), "--out", tmp_path / "run")
    assert code == 1
    assert printed == ""
    assert errors.startswith("error: ")
    assert errors.endswith("\n")
    assert errors.count("\n") == 1
    assert message in errors
    assert os.listdir(tmp_path) == []  # noqa: PTH208
    assert sorted(os.listdir(shelf)) == there  # noqa: PTH208


def test_an_array_of_several_is_named_by_its_key(cli: Cli, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 60)
    inputs = (3 * np.eye(2)[truth] + rng.normal(size=(60, 2))).astype(np.float32)
    np.savez(tmp_path / "both.npz", train=inputs[:40], test=inputs[40:])
    np.save(tmp_path / "labels.npy", np.column_stack([truth, truth, 1 - truth])[:40])
    arguments = ("train", tmp_path / "both.npz", tmp_path / "labels.npy", "--out", tmp_path / "run", "--epochs", 2)
    code, _, errors = cli(*arguments)
    assert code == 1
    assert errors.rstrip().endswith("holds 2 arrays: pass --key one of train, test")
    assert cli(*arguments, "--key", "train", "--method", "annotator-confusion")[0] == 0
    confusion = (tmp_path / "run" / "confusion.csv").read_text().splitlines()
    assert confusion[0].replace('"', "") == "annotator,true,observed,probability,low,high"
    assert len(confusion) == 1 + 3 * 2 * 2
    answers = tmp_path / "answers.csv"
    assert cli("predict", tmp_path / "run", tmp_path / "both.npz", "--key", "test", "--out", answers)[0] == 0
    assert len(answers.read_text().splitlines()) == 21
