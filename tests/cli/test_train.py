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


def test_one_table_may_hold_features_and_what_several_said(cli: Cli, tmp_path: Path) -> None:
    rows = [f"{n},{n % 2},{who},{n % 2}" for n in range(30) for who in ("ann", "bob")]
    (tmp_path / "all.csv").write_text("\n".join(["task,size,worker,label", *rows]))
    assert cli("train", tmp_path / "all.csv", tmp_path / "all.csv", "--out", tmp_path / "run", *QUICK)[0] == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["examples"] == 30
    assert column(tmp_path / "run" / "annotators.csv", "labels") == [30, 30]


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


def reviews(folder: Path) -> tuple[list[str], list[str]]:
    """Forty texts and what they are: labels in a long table, beside the texts with and without a name, and wide."""
    rng = np.random.default_rng(0)
    truth = [("bad", "good")[n % 2] for n in range(40)]
    words = {"good": ["lovely", "great", "fine"], "bad": ["dull", "poor", "awful"]}
    texts = [
        f"a {rng.choice(words[label])}, {rng.choice(words[label])} film no. {n + 10}" for n, label in enumerate(truth)
    ]
    other = [truth[1] if n % 8 == 0 else label for n, label in enumerate(truth)]
    long = [(n, who, said[n]) for n in range(40) for who, said in (("ann", truth), ("bob", other))]
    (folder / "texts.csv").write_text("task,review\n" + "".join(f'{n},"{text}"\n' for n, text in enumerate(texts)))
    (folder / "said.csv").write_text("task,worker,label\n" + "".join(f"{n},{who},{label}\n" for n, who, label in long))
    rows = [f'{n},"{texts[n]}",{who},{label}\n' for n, who, label in long]
    (folder / "named.csv").write_text("task,review,worker,label\n" + "".join(rows))
    (folder / "bare.csv").write_text("review,worker,label\n" + "".join(row.split(",", 1)[1] for row in rows))
    wide = [f'{n},"{texts[n]}",{truth[n]},{other[n]}\n' for n in range(40)]
    (folder / "wide.csv").write_text("task,review,ann,bob\n" + "".join(wide))
    return texts, truth


@pytest.mark.parametrize(
    ("data", "labels", "options", "names"),
    [
        ("texts.csv", "said.csv", (), "numbers"),
        ("named.csv", "named.csv", (), "numbers"),
        ("bare.csv", "bare.csv", (), "texts"),
        ("wide.csv", "wide.csv", ("--wide",), "numbers"),
        ("texts.csv", "wide.csv", ("--annotators", "ann,bob"), "numbers"),
    ],
)
def test_learn_from_texts_and_answer_for_others(
    data: str, labels: str, options: tuple[str, ...], names: str, cli: Cli, tmp_path: Path
) -> None:
    texts, truth = reviews(tmp_path)
    run, out = tmp_path / "run", tmp_path / "answers.csv"
    arguments = ("train", tmp_path / data, tmp_path / labels, "--text", "review", "--out", run, *QUICK, *options)
    code, _, errors = cli(*arguments)
    assert (code, errors) == (0, "")
    assert sorted(path.name for path in run.iterdir() if path.name.startswith("text")) == [
        "text.json",
        "text.safetensors",
    ]
    quality = column(run / "label_quality.csv", "example")
    assert quality == [name for n in range(40) for name in [n if names == "numbers" else texts[n]] * 2]
    assert json.loads((run / "model.json").read_text())["parameters"]["standardize"] is False

    id_column = "task," if names == "numbers" else ""
    rows = "".join(f'{"7," if id_column else ""}"{text}"\n' for text in ["what a lovely film"])
    (tmp_path / "new.csv").write_text(f"{id_column}review\n{rows}")
    assert cli("predict", run, tmp_path / "new.csv", "--out", out)[0] == 0
    assert column(out, "label") == ["good"]
    assert column(out, "example") == [7 if id_column else 0]
    (tmp_path / "other.csv").write_text(f"{id_column}note\n{rows}")
    assert (
        cli("predict", run, tmp_path / "other.csv", "--text", "note", "--out", tmp_path / "other_answers.csv")[0] == 0
    )
    assert (tmp_path / "other_answers.csv").read_bytes() == out.read_bytes()
    assert cli("predict", run, tmp_path / data, "--out", out)[0] == 0
    if data != "bare.csv":  # where rows are numbered each text is there twice
        assert np.mean([a == b for a, b in zip(column(out, "label"), truth, strict=True)]) > 0.9
    code, _, errors = cli("predict", run, tmp_path / "other.csv", "--out", out)
    assert (code, errors.startswith("error: text names 'review', which is not there")) == (1, True)

    before = snapshot(run)
    assert cli(*arguments)[0] == 0
    assert snapshot(run) == before


@pytest.mark.filterwarnings("default")
def test_categories_and_gaps_are_read_alike(cli: Cli, tmp_path: Path) -> None:
    rows = [f"{n},{('red', 'blue')[n % 2]},{'' if n % 7 == 0 else n % 5},{n % 2}" for n in range(60)]
    (tmp_path / "x.csv").write_text("\n".join(["task,hue,size,label", *rows]))
    arguments = ("train", tmp_path / "x.csv", tmp_path / "x.csv", *QUICK)
    code, _, errors = cli(*arguments, "--out", tmp_path / "run")
    assert code == 1
    assert errors == "error: column 'size' has no value in row 1: fill it in, drop the row, or pass --fill median\n"
    assert cli(*arguments, "--fill", "median", "--out", tmp_path / "run")[0] == 0
    record = json.loads((tmp_path / "run" / "inputs.json").read_text())
    assert record["categories"] == {"hue": ["blue", "red"]}
    assert record["fill"] == {"size": 2.0}
    (tmp_path / "new.csv").write_text("task,hue,size\n1,blue,\n2,red,3\n3,mauve,1\n")
    code, _, errors = cli("predict", tmp_path / "run", tmp_path / "new.csv", "--out", tmp_path / "answers.csv")
    assert code == 0
    assert (
        errors == "warning: the training had no hue 'mauve': values that it did not see count as none of those it saw\n"
    )
    assert column(tmp_path / "answers.csv", "label")[:2] == [1, 0]
    expected = TrueLabelClassifier.load(tmp_path / "run").predict_proba(np.array([[1, 0, 2], [0, 1, 3], [0, 0, 1]]))
    written = np.array(column(tmp_path / "answers.csv", "probability_1"), float)
    assert np.allclose(written, expected[:, 1], atol=1e-6)


def test_a_record_from_before_there_were_texts_is_read(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    assert cli("train", shelf / "x.csv", shelf / "labels.csv", "--out", tmp_path / "run", *QUICK)[0] == 0
    path = tmp_path / "run" / "inputs.json"
    note = json.loads(path.read_text())
    old = ("columns", "drop", "id_column", "size", "grey", "key")
    path.write_text(json.dumps({name: note[name] for name in old}))
    assert cli("predict", tmp_path / "run", shelf / "x.csv", "--out", tmp_path / "answers.csv")[0] == 0
    code, _, errors = cli("predict", tmp_path / "run", shelf / "text.csv", "--out", tmp_path / "answers.csv")
    assert (code, "column 'north' is string, not numeric" in errors) == (1, True)


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
        ("text.csv labels.csv", "column 'north' is text, not numeric, and has 60 values in 60 rows"),
        ("dates.csv labels.csv", "column 'north' is a date or time (date32[day]), not numeric"),
        ("x.csv labels.csv --fill mean", "--fill must be median, got 'mean'"),
        ("x.csv labels.csv --text nope", "text names 'nope', which is not there: choose from task, east, north"),
        ("x.csv labels.csv --embed some", "--embed is for texts: name their column with --text"),
        ("x.csv labels.csv --text east --drop north", "--drop is for tables of features, but --text names a column"),
        ("x.npy labels.npy --text east", "--text names a column of a table, but x.npy is none"),
        ("pictures pictures.csv --text east", "--text names a column of a table, but pictures is none"),
        ("pictures --text east", "--text is for labels in a table"),
        (
            "x.csv wide.csv",
            "no column of wide.csv looks like the label: pass --label one of task, ann, bob, cid; or --wide",
        ),
        ("x.csv wide.csv --annotators ann,eve", "wide.csv has no column 'eve': it has task, ann, bob, cid"),
        ("x.csv wide.csv --wide --label ann", "leave --annotator and --label out"),
        (
            "wide.csv wide.csv --wide",
            "name the columns of the annotators with --annotators: the others of wide.csv are",
        ),
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


def test_a_run_does_not_go_between_other_files(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for out, why in (
        (tmp_path, "holds other files: name a new folder, or an empty one"),
        (tmp_path / "mine.txt", "is a file"),
    ):
        code, printed, errors = cli("train", shelf / "x.csv", shelf / "labels.csv", "--out", out)
        assert (code, printed) == (1, "")
        assert errors.startswith(f"error: --out {out} {why}")
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
