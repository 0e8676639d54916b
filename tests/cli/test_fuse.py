"""``truelabel fuse``."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from truelabel.frames import Table
from truelabel.fusion.fused import SMOOTHING

Cli = Callable[..., tuple[int, str, str]]
Rows = list[dict[str, object]]
WORKERS = ("ann", "bob", "cid")


def rows(path: Path) -> Rows:
    table = Table(path)
    columns = {name: table.column(name).to_pylist() for name in table.columns}
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
def test_the_numbers_are_right(file_format: str, cli: Cli, shelf: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "fused"
    code, printed, errors = cli("fuse", shelf / "labels.csv", "--out", out, "--format", file_format)
    assert (code, errors) == (0, "")
    assert f"Wrote consensus, annotators and confusion to {out}" in printed.replace("\n", "")
    assert sorted(path.name for path in out.iterdir()) == [
        f"{name}.{file_format}" for name in ("annotators", "confusion", "consensus")
    ]
    votes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    given = rows(shelf / "labels.csv")
    for row in given:
        votes[str(row["task"])][str(row["label"])] += 1

    consensus = rows(out / f"consensus.{file_format}")
    assert [row["example"] for row in consensus] == sorted(votes)
    chosen = {}
    for row in consensus:
        count = votes[str(row["example"])]
        chosen[row["example"]] = row["label"]
        assert count[str(row["label"])] == max(count.values())
        assert row["labels"] == count.total()
        assert row["probability"] == pytest.approx(max(count.values()) / count.total(), abs=1e-12)

    agreement = {name: [r["label"] == chosen[r["task"]] for r in given if r["worker"] == name] for name in WORKERS}
    for row, name in zip(rows(out / f"annotators.{file_format}"), WORKERS, strict=True):
        assert row["annotator"] == name
        assert row["labels"] == len(agreement[name])
        assert row["agreement"] == pytest.approx(sum(agreement[name]) / len(agreement[name]), abs=1e-12)
        assert f"{sum(agreement[name]) / len(agreement[name]):.1%}" in printed

    expected = []
    for name in WORKERS:
        for true in ("cat", "dog"):
            counts = dict.fromkeys(("cat", "dog"), SMOOTHING)
            for row in given:
                if row["worker"] == name:
                    count = votes[str(row["task"])]
                    counts[str(row["label"])] += count[true] / count.total()
            expected += [(name, true, seen, value / sum(counts.values())) for seen, value in counts.items()]
    confusion = rows(out / f"confusion.{file_format}")
    assert [(r["annotator"], r["true"], r["observed"]) for r in confusion] == [line[:3] for line in expected]
    assert [r["probability"] for r in confusion] == pytest.approx([line[3] for line in expected], abs=1e-12)


def test_nothing_is_written_unless_asked(
    cli: Cli, shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, printed, errors = cli("fuse", shelf / "labels.npy")
    assert (code, errors) == (0, "")
    assert "Nothing was written; name a folder with --out" in printed
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - hidden files count


def test_ties_follow_the_seed(cli: Cli, tmp_path: Path) -> None:
    labels = tmp_path / "torn.csv"
    lines = [f"{n},{worker},{label}" for n in range(40) for worker, label in (("ann", "a"), ("bob", "b"))]
    labels.write_text("\n".join(["task,worker,label", *lines]))

    def fused(name: str, *options: object) -> list[object]:
        assert cli("fuse", labels, "--out", tmp_path / name, *options)[0] == 0
        return [row["label"] for row in rows(tmp_path / name / "consensus.csv")]

    first = fused("first")
    assert set(first) == {"a", "b"}
    assert fused("again", "--seed", 0) == first
    assert fused("other", "--seed", 1) != first


def test_many_annotators_are_shown_by_their_ends(cli: Cli, tmp_path: Path) -> None:
    labels = tmp_path / "many.csv"
    lines = [f"{n},w{worker:02},{n % 2 if worker < 15 else worker % 2}" for n in range(6) for worker in range(20)]
    labels.write_text("\n".join(["task,worker,label", *lines]))
    printed = cli("fuse", labels)[1]
    assert "the six who agree most and least" in printed
    assert sum(f"w{worker:02}" in printed for worker in range(20)) == 12
    assert all(f"w{worker:02}" in printed for worker in range(15, 20))


def test_names_in_brackets_are_printed_as_they_are(cli: Cli, tmp_path: Path) -> None:
    labels = tmp_path / "odd.csv"
    labels.write_text("task,worker,label\n1,[bold]ann,[/red]\n2,[bold]ann,[b]\n1,bob[/],[/red]\n")
    code, printed, _ = cli("fuse", labels)
    assert code == 0
    for name in ("[bold]ann", "bob[/]", "[/red]", "[b]"):
        assert name in printed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("none.csv", "there is no file none.csv"),
        ("garbage.parquet", "cannot read garbage.parquet"),
        ("labels.xlsx", "expected a file ending in .csv"),
        ("rows.csv", "rows.csv has no rows"),
        ("x.csv", "no column of x.csv looks like the label"),
        ("silent.npy", "annotator 2 (row 3) is without labels"),
        ("one-class.csv", "all labels are of one class"),
        ("labels.csv --method nope", "there is no fusion 'nope': choose from "),
        ("labels.csv --format xlsx", "--format must be csv or parquet, got 'xlsx'"),
        ("labels.csv --classes cat", "label 'dog' in row"),
        ("labels.csv --annotator nope", "has no column 'nope' for annotator"),
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
