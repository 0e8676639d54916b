from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pyarrow import csv

from truelabel.cli.ask_sources import known_from_run
from truelabel.quality.ask import ask

Cli = Callable[..., tuple[int, str, str]]


def test_a_run_is_asked(asked_run: Path, cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "ask.csv"
    code, printed, errors = cli("ask", asked_run, "--budget", 12, "--out", out)
    assert (code, errors) == (0, "")
    table = csv.read_csv(out)
    assert table.column_names == ["example", "annotator", "gain_bits", "cost"]
    known = known_from_run(asked_run)
    expected = ask(known.posterior, known.confusion, 12, annotations=known.annotations)
    assert table["example"].to_pylist() == known.annotations.examples[expected.example].tolist()
    assert table["annotator"].to_pylist() == known.annotations.annotators[expected.annotator].tolist()
    np.testing.assert_allclose(table["gain_bits"].to_numpy(), expected.gain)
    assert "cross-entropy on Annotations(" in printed
    assert "These are the first 10 of 12 questions." in printed
    assert f"12 labels of {len(set(expected.example.tolist()))} examples for 12, by " in printed
    assert f"They are expected to tell {expected.gain.sum():.1f} bits" in printed
    assert f"Wrote 12 questions to {out}" in printed


def test_nobody_is_asked_twice_and_limits_hold(asked_run: Path, cli: Cli, tmp_path: Path) -> None:
    out, costs = tmp_path / "ask.csv", tmp_path / "costs.csv"
    costs.write_text("annotator,cost\ncid,4\n")
    limits = ("--costs", costs, "--capacity", 3, "--per-example", 1)
    code, printed, _ = cli("ask", asked_run, "--budget", 30, *limits, "--out", out)
    assert code == 0
    table = csv.read_csv(out)
    pairs = list(zip(table["example"].to_pylist(), table["annotator"].to_pylist(), strict=True))
    given = csv.read_csv(asked_run / "label_quality.csv")
    said = set(zip(given["example"].to_pylist(), given["annotator"].to_pylist(), strict=True))
    assert not said & set(pairs)
    # Ann and bob have labelled everything, so only cid is left, who has time for three.
    assert [name for _, name in pairs] == ["cid"] * 3
    assert table["cost"].to_pylist() == [4.0] * 3
    assert "18 of the budget is left: nobody else fits it, has time, or would tell anything new" in printed
    _, printed, _ = cli("ask", asked_run, "--budget", 5, "--repeat")
    assert "│ ann " in printed


def test_labels_alone_are_enough(shelf: Path, cli: Cli, tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    # An example that nobody labelled yet stands in the table with an empty label.
    table.write_text((shelf / "labels.csv").read_text() + "e99,bob,\n")
    code, printed, errors = cli("ask", table, "--budget", 2, "--out", tmp_path / "ask.parquet")
    assert (code, errors) == (0, "")
    assert "dawid-skene on Annotations(" in printed
    assert "e99" in printed
    assert (tmp_path / "ask.parquet").is_file()


def test_without_out_nothing_is_written(shelf: Path, cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed, _ = cli("ask", shelf / "labels.csv", "--budget", 2)
    assert (code, list(tmp_path.iterdir())) == (0, [])
    assert printed.endswith("Nothing was written; name a file with --out to keep the questions.\n")


def test_one_who_gets_most_is_pointed_out_unless_there_is_a_limit(asked_run: Path, cli: Cli) -> None:
    hint = "Most go to cid: if you are not sure how good they are, spread the questions with --capacity"
    assert hint in cli("ask", asked_run, "--budget", 12)[1]
    assert hint not in cli("ask", asked_run, "--budget", 12, "--capacity", 12)[1]
    assert hint not in cli("ask", asked_run, "--budget", 5)[1]


@pytest.mark.parametrize("absent", ["posterior.npz", "examples.csv", "label_quality.csv"])
def test_an_old_run_says_how_to_get_what_it_lacks(absent: str, asked_run: Path, cli: Cli) -> None:
    (asked_run / absent).unlink()
    code, _, errors = cli("ask", asked_run, "--budget", 5)
    again = "give the same `truelabel train` command again, which adds it"
    assert (code, errors) == (1, f"error: {asked_run} has no {absent}: {again}\n")


def test_what_cannot_be_asked_is_one_line(asked_run: Path, shelf: Path, cli: Cli, tmp_path: Path) -> None:
    masks = tmp_path / "masks"
    masks.mkdir()
    note = (asked_run / "model.json").read_text()
    (masks / "model.json").write_text(note.replace("TrueLabelClassifier", "TrueLabelSegmenter"))
    labels = shelf / "labels.csv"
    cases = {
        (tmp_path / "none", "--budget", 1): f"there is no file or folder {tmp_path / 'none'}: check the path",
        (tmp_path, "--budget", 1): f"{tmp_path} holds no trained model: there is no model.json in it",
        (masks, "--budget", 1): f"{masks} learned from masks: further labels are asked for whole examples only",
        (labels, "--budget", 0): "budget must be a number above 0, got 0.0",
        (labels, "--budget", 1, "--capacity", -1): "capacity must be whole numbers of at least 0, got -1",
        (labels, "--budget", 1, "--per-example", 0): "per_example must be a whole number of at least 1, got 0",
        (labels, "--budget", 1, "--out", "x.txt"): "--out x.txt must end in .csv or .parquet",
        (asked_run, "--budget", 1, "--label", "x"): f"--label is for labels in a table, but {asked_run} is a run",
        (labels, "--budget", 1, "--pool", labels): "--pool is for a run, whose network knows further examples",
        (labels, "--budget", 1, "--label", "x"): "labels.csv has no column 'x' for label",
    }
    for arguments, message in cases.items():
        code, printed, errors = cli("ask", *arguments)
        assert (code, printed, errors.count("\n")) == (1, "", 1), errors
        assert errors.startswith(f"error: {message}")


def test_the_budget_must_be_named(asked_run: Path, cli: Cli) -> None:
    code, _, errors = cli("ask", asked_run)
    assert code == 2
    assert "--budget" in errors


def test_nothing_left_to_ask_is_said(asked_run: Path, cli: Cli, tmp_path: Path) -> None:
    sure = np.tile([1.0, 0.0], (60, 1)).astype(np.float32)
    np.savez(asked_run / "posterior.npz", probs=sure)
    out = tmp_path / "ask.csv"
    code, printed, _ = cli("ask", asked_run, "--budget", 5, "--out", out)
    assert code == 0
    assert "5 of the budget is left" in printed
    assert out.read_text().splitlines() == ['"example","annotator","gain_bits","cost"']


def test_a_copied_run_is_the_same(asked_run: Path, cli: Cli, tmp_path: Path) -> None:
    moved = shutil.copytree(asked_run, tmp_path / "moved")
    first, second = (cli("ask", run, "--budget", 7)[1] for run in (asked_run, moved))
    assert first == second
