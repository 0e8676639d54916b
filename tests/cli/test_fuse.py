"""``truelabel fuse``: what it writes is what the library finds, all of it or nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import truelabel
from truelabel import Annotations
from truelabel.cli import fusion_folder
from truelabel.cli.fusions import FUSIONS
from truelabel.frames import Table
from truelabel.fusion import dawid_skene, glad, mace, majority_vote, one_coin
from truelabel.fusion.fused import SMOOTHING
from truelabel.metrics import annotator_skill, confusion_interval, fleiss_kappa, krippendorff_alpha, skill_interval
from truelabel.training.files import read_tensors

Cli = Callable[..., tuple[int, str, str]]
WORKERS = ["ann", "bob", "cid"]
TABLES = ("annotators", "confusion", "consensus")
QUICK = ("--network", "mlp:16", "--epochs", 2, "--device", "cpu")


def column(path: Path, name: str) -> list[Any]:
    values: list[Any] = Table(path).column(name).to_pylist()
    return values


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def noted(folder: Path) -> dict[str, Any]:
    note: dict[str, Any] = json.loads((folder / "fusion.json").read_text(encoding="utf-8"))
    return note


@pytest.fixture
def torn(tmp_path: Path) -> Path:
    """Two who never agree, on 40 examples whose features stand in another order."""
    folder = tmp_path / "torn"
    folder.mkdir()
    lines = [f"{n},{worker},{label}" for n in range(40) for worker, label in (("ann", "a"), ("bob", "b"))]
    (folder / "labels.csv").write_text("\n".join(["task,worker,label", *lines]))
    points = [f"{n},{n % 7},{n % 3}" for n in reversed(range(45))]
    (folder / "x.csv").write_text("\n".join(["task,east,north", *points]))
    return folder


@pytest.mark.parametrize("file_format", fusion_folder.FORMATS)
@pytest.mark.parametrize(
    ("name", "reference", "options"),
    [
        ("majority-vote", lambda a: majority_vote(a, ties="lowest"), {"ties": "lowest"}),
        ("dawid-skene", lambda a: dawid_skene(a, smoothing=0.5), {"smoothing": 0.5}),
        ("one-coin", lambda a: one_coin(a, tolerance=1e-7), {"tolerance": 1e-7}),
        ("glad", lambda a: glad(a, max_iterations=900), {"max_iterations": 900}),
        ("mace", lambda a: mace(a, restarts=3, seed=7), {"restarts": 3}),
    ],
    ids=list(FUSIONS),
)
def test_the_files_hold_what_the_library_finds(
    name: str, reference: Any, options: dict[str, Any], file_format: str, cli: Cli, shelf: Path, tmp_path: Path
) -> None:
    out = tmp_path / "new" / "fused"
    given = [word for key, value in options.items() for word in ("--option", f"{key.replace('_', '-')}={value}")]
    arguments = ("--method", name, "--out", out, "--format", file_format, "--seed", 7, *given)
    code, printed, errors = cli("fuse", shelf / "labels.csv", *arguments)
    assert (code, errors) == (0, "")
    assert f"Wrote consensus, annotators, confusion and fusion.json to {out}" in printed.replace("\n", "")
    files = {table: out / f"{table}.{file_format}" for table in TABLES}
    assert sorted(out.iterdir()) == sorted([*files.values(), out / "fusion.json"])
    assert os.listdir(out.parent) == ["fused"]  # noqa: PTH208 - hidden files count

    annotations = Annotations.from_table(shelf / "labels.csv")
    fused = reference(annotations)
    classes = np.array(annotations.classes)
    assert column(files["consensus"], "example") == annotations.examples.tolist()
    assert column(files["consensus"], "label") == classes[fused.labels].tolist()
    sure = fused.posterior[np.arange(len(fused.labels)), fused.labels]
    assert np.allclose(column(files["consensus"], "probability"), sure, rtol=0, atol=1e-12)
    assert column(files["consensus"], "labels") == annotations.counts.tolist()

    quality = fused.posterior[annotations.example, annotations.label]
    skill, ends = annotator_skill(annotations, quality), skill_interval(annotations, quality)
    agree = fused.labels[annotations.example] == annotations.label
    agreement = np.array([agree[annotations.annotator == r].mean() for r in range(3)])
    assert column(files["annotators"], "annotator") == WORKERS
    assert column(files["annotators"], "labels") == annotations.workload.tolist()
    expected = {"skill": skill, "skill_low": ends[:, 0], "skill_high": ends[:, 1], "agreement": agreement}
    for key, values in expected.items():
        assert np.allclose(column(files["annotators"], key), values, rtol=0, atol=1e-12)
    for r, worker in enumerate(WORKERS):
        line = next(line for line in printed.splitlines() if line.startswith(f"│ {worker}"))
        for value in (skill[r], *ends[r], agreement[r]):
            assert f"{value:.1%}" in line

    cells = confusion_interval(annotations, fused.posterior, fused.confusion)
    names = [(w, t, o) for w in WORKERS for t in annotations.classes for o in annotations.classes]
    written = [column(files["confusion"], key) for key in ("annotator", "true", "observed")]
    assert list(zip(*written, strict=True)) == names
    for key, table in {"probability": fused.confusion, "low": cells[..., 0], "high": cells[..., 1]}.items():
        assert np.allclose(column(files["confusion"], key), table.ravel(), rtol=0, atol=1e-12)

    note = noted(out)
    assert (note["method"], note["seed"], note["truelabel"]) == (name, 7, truelabel.__version__)
    assert note["options"].items() >= options.items()
    assert note["evidence"] == (None if fused.evidence is None else pytest.approx(fused.evidence, rel=1e-9))
    assert (note["converged"], note["iterations"]) == (fused.converged, len(fused.history))
    assert note["prior"] == pytest.approx(dict(zip(annotations.classes, fused.prior, strict=True)), abs=1e-12)
    kappa, alpha = fleiss_kappa(annotations), krippendorff_alpha(annotations)
    assert note["agreement"] == pytest.approx({"fleiss_kappa": kappa, "krippendorff_alpha": alpha}, abs=1e-12)
    assert f"Agreement beyond chance: Fleiss' kappa {kappa:.2f}, Krippendorff's alpha {alpha:.2f}" in printed
    if fused.evidence is None:
        assert "it has no model, so no evidence" in printed
    else:
        end = f"converged after {len(fused.history)} iterations"
        assert f"{name}: evidence {fused.evidence:.1f}, {end}" in printed


def test_the_vote_by_hand(cli: Cli, tmp_path: Path) -> None:
    rows = "1,ann,a\n1,bob,a\n1,cid,b\n2,ann,b\n2,bob,b\n3,cid,a\n"
    (tmp_path / "labels.csv").write_text(f"task,worker,label\n{rows}")
    out = tmp_path / "fused"
    assert cli("fuse", tmp_path / "labels.csv", "--out", out)[0] == 0
    consensus = [column(out / "consensus.csv", key) for key in ("example", "label", "probability", "labels")]
    assert consensus == [[1, 2, 3], ["a", "b", "a"], [pytest.approx(2 / 3), 1.0, 1.0], [3, 2, 1]]
    assert column(out / "annotators.csv", "agreement") == [1.0, 1.0, 0.5]
    assert column(out / "annotators.csv", "skill") == pytest.approx([5 / 6, 5 / 6, 2 / 3])
    # cid said b where a has two votes of three, and a where it has the only one.
    counts = np.array([[1 + SMOOTHING, 2 / 3 + SMOOTHING], [SMOOTHING, 1 / 3 + SMOOTHING]])
    last = column(out / "confusion.csv", "probability")[-4:]
    assert last == pytest.approx((counts / counts.sum(-1, keepdims=True)).ravel().tolist())


def test_nothing_is_written_unless_asked(
    cli: Cli, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed, errors = cli("fuse", shelf / "labels.npy")
    assert (code, errors) == (0, "")
    assert "Nothing was written; name a folder with --out" in printed
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden files count


def test_ties_follow_the_seed(cli: Cli, torn: Path, tmp_path: Path) -> None:
    def fused(name: str, *options: object) -> list[object]:
        assert cli("fuse", torn / "labels.csv", "--out", tmp_path / name, *options)[0] == 0
        return column(tmp_path / name / "consensus.csv", "label")

    first = fused("first")
    assert set(first) == {"a", "b"}
    assert fused("again", "--seed", 0) == first
    assert fused("other", "--seed", 1) != first


def test_many_annotators_are_shown_by_their_ends(cli: Cli, tmp_path: Path) -> None:
    labels = tmp_path / "many.csv"
    lines = [f"{n},w{worker:02},{n % 2 if worker < 15 else worker % 2}" for n in range(6) for worker in range(20)]
    labels.write_text("\n".join(["task,worker,label", *lines]))
    printed = cli("fuse", labels)[1]
    assert "the six most and the six least skilled" in " ".join(printed.split())
    assert sum(f"w{worker:02}" in printed for worker in range(20)) == 12
    assert all(f"w{worker:02}" in printed for worker in range(15, 20))


def test_names_in_brackets_are_printed_as_they_are(cli: Cli, tmp_path: Path) -> None:
    labels = tmp_path / "odd.csv"
    labels.write_text("task,worker,label\n1,[bold]ann,[/red]\n2,[bold]ann,[b]\n1,bob[/],[/red]\n")
    code, printed, _ = cli("fuse", labels)
    assert code == 0
    for name in ("[bold]ann", "bob[/]", "[/red]", "[b]"):
        assert name in printed


def test_who_and_what_has_no_labels_is_left_out(cli: Cli, tmp_path: Path) -> None:
    rows = "1,ann,a\n1,bob,a\n2,ann,b\n2,bob,\n3,ann,\n4,cid,\n"
    (tmp_path / "labels.csv").write_text(f"task,worker,label\n{rows}")
    code, printed, errors = cli("fuse", tmp_path / "labels.csv", "--method", "mace", "--out", tmp_path / "fused")
    assert (code, errors) == (0, "")
    assert "Left out for want of labels: 2 examples and 1 annotator\n" in printed
    assert column(tmp_path / "fused" / "consensus.csv", "example") == [1, 2]
    assert column(tmp_path / "fused" / "annotators.csv", "annotator") == ["ann", "bob"]


def test_a_wide_table_gives_what_the_long_one_gives(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    assert cli("fuse", shelf / "labels.csv", "--out", tmp_path / "long")[0] == 0
    for name, options in {"wide": ("--wide",), "named": ("--annotators", "ann,bob,cid")}.items():
        assert cli("fuse", shelf / "wide.csv", "--out", tmp_path / name, *options)[0] == 0
        assert snapshot(tmp_path / name) == snapshot(tmp_path / "long")
    code, _, errors = cli("fuse", shelf / "masks.npy", "--wide")
    assert (code, errors.startswith("error: --wide is for labels of whole examples")) == (1, True)
    code, _, errors = cli("fuse", shelf / "wide.csv")
    assert code == 1
    assert errors.endswith("or --wide, if each annotator has a column of their own\n")


def test_a_silent_column_of_a_matrix_is_left_out(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    code, printed, _ = cli("fuse", shelf / "silent.npy", "--method", "dawid-skene", "--out", tmp_path / "fused")
    assert code == 0
    assert "Left out for want of labels: 1 annotator\n" in printed
    assert column(tmp_path / "fused" / "annotators.csv", "annotator") == [0, 1]


@pytest.mark.filterwarnings("default")
def test_one_label_an_example_is_warned_of_in_one_line(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    code, printed, errors = cli("fuse", shelf / "single.csv", "--method", "dawid-skene", "--out", tmp_path / "fused")
    assert code == 0
    assert errors.startswith("warning: no example has two labels")
    assert errors.endswith("use --method majority-vote\n")
    assert errors.count("\n") == 1
    assert "Agreement beyond chance: not defined, since no example has two labels" in printed
    assert noted(tmp_path / "fused")["agreement"] == {"fleiss_kappa": None, "krippendorff_alpha": None}


@pytest.mark.filterwarnings("default")
def test_a_fusion_cut_short_says_so(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    arguments = ("--method", "dawid-skene", "--option", "max_iterations=2", "--option", "tolerance=0")
    code, printed, errors = cli("fuse", shelf / "labels.csv", *arguments, "--out", tmp_path / "fused")
    assert code == 0
    assert errors.startswith("warning: dawid_skene stopped after 2 iterations")
    assert errors.endswith(": raise --option max_iterations= or tolerance=\n")
    assert "not converged after 2 iterations" in printed
    assert noted(tmp_path / "fused")["converged"] is False


@pytest.mark.parametrize("name", ["majority-vote", "dawid-skene"])
def test_a_network_learns_the_consensus_that_is_written(name: str, cli: Cli, shelf: Path, tmp_path: Path) -> None:
    out, answers = tmp_path / "fused", tmp_path / "answers.csv"
    arguments = ("fuse", shelf / "labels.csv", "--method", name, "--out", out)
    assert cli(*arguments)[0] == 0
    before = snapshot(out)
    training = ("--data", shelf / "x.csv", *QUICK, "--option", "soft=true")
    code, printed, errors = cli(*arguments, *training)
    assert (code, errors) == (0, "")
    assert f"Wrote the run to {out / 'run'}" in printed.replace("\n", "")
    # Inputs change nothing of the fusion, though they stand in another order.
    assert snapshot(out).items() >= before.items()
    learned, _ = read_tensors(out / "run" / "fused.safetensors")
    consensus = np.array(["cat", "dog"])[learned["labels"].numpy()].tolist()
    assert consensus == column(out / "consensus.csv", "label")
    confusion = learned["confusion"].numpy().ravel()
    assert np.allclose(confusion, column(out / "confusion.csv", "probability"), rtol=0, atol=1e-12)
    assert json.loads((out / "run" / "model.json").read_text())["options"]["soft"] is True
    assert cli("predict", out / "run", shelf / "x.csv", "--out", answers)[0] == 0
    assert column(answers, "example") == column(shelf / "x.csv", "task")
    # A finished run is loaded, not repeated; another one is refused before anything is written.
    assert cli(*arguments, *training)[1] == printed
    after = snapshot(out)
    code, _, errors = cli(*arguments, *training, "--epochs", 3)
    assert code == 1
    assert errors.startswith(f"error: {out / 'run'} holds another run (epochs is 2, not 3)")
    assert snapshot(out) == after


def test_ties_are_drawn_once(cli: Cli, torn: Path, tmp_path: Path) -> None:
    """The run has another seed than the fusion, so that to fuse again would draw other ties."""
    out = tmp_path / "fused"
    code, printed, errors = cli("fuse", torn / "labels.csv", "--data", torn / "x.csv", "--out", out, *QUICK)
    assert (code, errors) == (0, "")
    assert "Left out for want of labels: 5 examples\n" in printed
    learned, _ = read_tensors(out / "run" / "fused.safetensors")
    expected = majority_vote(Annotations.from_table(torn / "labels.csv"), seed=0).labels
    assert learned["labels"].tolist() == expected.tolist()
    assert column(out / "consensus.csv", "label") == ["ab"[k] for k in expected]
    assert column(out / "consensus.csv", "example") == list(range(40))


def test_pictures_and_arrays_may_be_learned_from(cli: Cli, shelf: Path, tmp_path: Path) -> None:
    pictures = ("--data", shelf / "pictures", "--grey", "--size", "6x8", *QUICK)
    assert cli("fuse", shelf / "pictures.csv", "--out", tmp_path / "pictures", *pictures)[0] == 0
    kept = json.loads((tmp_path / "pictures" / "run" / "inputs.json").read_text())
    assert (kept["size"], kept["grey"]) == ([6, 8], True)
    arrays = ("--data", shelf / "x.npy", *QUICK, "--method", "one-coin")
    assert cli("fuse", shelf / "silent.npy", "--out", tmp_path / "arrays", *arrays)[0] == 0
    new = tmp_path / "new.parquet"
    assert cli("predict", tmp_path / "arrays" / "run", shelf / "x.npy", "--out", new)[0] == 0
    assert column(new, "example") == list(range(60))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.csv", "there is no file or folder none.csv: check the path\n"),
        ("nowhere.npy", "there is no file or folder nowhere.npy: check the path\n"),
        ("garbage.parquet", "cannot read garbage.parquet"),
        ("labels.xlsx", "expected a file ending in .csv"),
        ("rows.csv", "rows.csv has no rows"),
        ("x.csv", "no column of x.csv looks like the label"),
        ("nothing.npy", "there are no labels"),
        ("mute.csv", "there are no labels"),
        ("one-class.csv", "all labels are of one class"),
        ("masks.npy --method mace", "mace is for one label an example: choose from majority-vote, staple, spatial"),
        ("masks.npy --data x.npy", "--data is for labels of whole examples: train on masks with `truelabel train`"),
        ("masks.npy --epochs 3", "--epochs is for training: train on masks with `truelabel train`"),
        ("labels.csv --method staple", "staple is for masks: choose from majority-vote, dawid-skene"),
        (
            "labels.csv --layout suffixes",
            "--layout is for masks, but labels.csv is no folder and no mask: leave it out",
        ),
        ("labels.csv --probabilities", "--probabilities is for masks, but labels.csv is no folder"),
        ("labels.csv labels.npy", "labels.csv is a table beside other files: fuse one table, or mask files only"),
        ("labels.csv --method nope", "no fusion 'nope': choose from majority-vote, dawid-skene, one-coin, glad, mace"),
        ("labels.csv --format xlsx", "--format must be csv or parquet, got 'xlsx'"),
        ("labels.csv --classes cat", "label 'dog' in row"),
        ("labels.csv --annotator nope", "has no column 'nope' for annotator"),
        ("labels.csv --option ties", "--option must be name=value, got 'ties'"),
        ("labels.csv --option tie=1", "majority-vote has no option 'tie': it has ties"),
        ("labels.csv --option ties=9", "ties must be 'random' or 'lowest', got 9"),
        ("labels.csv --option seed=1", "majority-vote has no option 'seed': it has ties"),
        ("labels.csv --method glad --option base=forward", "glad has no option 'base': it has tolerance, max_iter"),
        ("labels.csv --method mace --option smoothing=no", "option smoothing must be a number, got 'no'"),
        ("labels.csv --method mace --option smoothing=[1]", "option smoothing must be a number, got [1]"),
        ("labels.csv --method mace --option restarts=1.5", "option restarts must be a whole number, got 1.5"),
        ("labels.csv --method mace --option restarts=true", "option restarts must be a whole number, got True"),
        ("labels.csv --method mace --option restarts=0", "restarts must be at least 1, got 0"),
        ("labels.csv --method one-coin --option smoothing=0", "smoothing must be above 0, got 0"),
        ("labels.csv --epochs 3", "--epochs is for training: name the inputs with --data"),
        ("labels.csv --grey", "--grey is for training: name the inputs with --data"),
        ("labels.csv --data none.csv", "there is no file or folder none.csv: check the path\n"),
        ("labels.csv --data nan.csv", "column 'north' has no value in row 1"),
        ("labels.csv --data x.csv --method nope", "there is no fusion 'nope': choose from majority-vote"),
        ("labels.csv --data x.csv --option tie=1", "majority-vote has no option 'tie': it has ties"),
        ("labels.csv --data x.csv --option soft=1", "soft must be true or false, got 1"),
        ("labels.csv --data x.csv --epochs 0", "epochs must be a whole number of at least 1, got 0"),
        ("labels.csv --data x.csv --network nope", "unknown network 'nope': choose from auto"),
        ("unknown-example.csv --data x.csv", "example 'nobody' in row 1 of unknown-example.csv is outside"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing_behind(
    arguments: str, message: str, cli: Cli, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shelf)
    code, printed, errors = cli("fuse", *arguments.split(), "--out", tmp_path / "fused")
    assert (code, printed) == (1, "")
    assert errors.startswith("error: ")
    assert errors.count("\n") == 1
    assert message in errors
    assert os.listdir(tmp_path) == []  # noqa: PTH208


def test_a_run_needs_a_folder_and_a_folder_is_no_file(cli: Cli, shelf: Path) -> None:
    code, _, errors = cli("fuse", shelf / "labels.csv", "--data", shelf / "x.csv")
    assert (code, errors) == (1, "error: --data needs --out, a folder to keep the run in\n")
    code, _, errors = cli("fuse", shelf / "labels.csv", "--out", shelf / "x.csv")
    assert (code, errors) == (1, f"error: --out {shelf / 'x.csv'} is a file: name a folder\n")
