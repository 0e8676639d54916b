"""``truelabel reproduce``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from truelabel.experiments.catalogue import PAPERS

Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TRUELABEL_DATA", str(tmp_path / "no-data"))


def test_the_list_names_every_table_and_what_it_takes(cli: Cli) -> None:
    code, printed, errors = cli("reproduce", "--list", "--json")
    assert (code, errors) == (0, "")
    told = {entry["name"]: entry for entry in json.loads(printed)}
    assert list(told) == [f"{paper.name}/{table.name}" for paper in PAPERS.values() for table in paper.tables]
    first = told["englesson2023/table-1"]
    assert (first["seeds"], first["runs"], len(first["rows"]), len(first["columns"])) == (5, 1215, 27, 9)
    code, printed, errors = cli("reproduce")
    assert (code, errors) == (0, "")
    assert " englesson2023/table-1 " in printed
    assert " 1215 " in printed


def test_a_smoke_test_runs_shows_and_is_not_repeated(cli: Cli) -> None:
    table = ("reproduce", "englesson2023/table-3", "--scale", "smoke", "--device", "cpu")
    code, printed, errors = cli(*table)
    assert code == 0
    begin = "5 runs to do; a line for each that ends\n[1/5] table-3, Identity, 10N worst, seed 0: accuracy "
    assert errors.startswith(begin)
    assert errors.count("\n[") == 5
    assert errors.endswith("5 new records in runs/reproduce/smoke/englesson2023.jsonl\n")
    assert "paper 65.64±1.53" in printed
    again = cli(*table)
    assert again[2] == "0 new records in runs/reproduce/smoke/englesson2023.jsonl\n"
    assert again[1] == printed
    code, printed, errors = cli(*table, "--show", "--json")
    (told,) = json.loads(printed)
    assert (code, errors, told["table"]) == (0, "", "table-3")
    assert {place["seeds"] for place in told["places"]} == {1}
    assert not Path("results").exists()


def test_rows_columns_shards_and_the_clock(cli: Cli) -> None:
    table = ("reproduce", "englesson2023/figure-2", "--results", "r", "--rows", "λ = 1*", "--columns", "r = [12]")
    code, printed, errors = cli(*table, "--minutes", "0")
    assert (code, errors) == (0, "0 new records in r/englesson2023.jsonl; 2 left: run the same command again\n")
    assert printed.count("not run") == 4
    for shard in ("1/2", "2/2"):
        assert cli(*table, "--shard", shard)[0] == 0
    lines = Path("r/englesson2023.jsonl").read_text().splitlines()
    assert all(json.loads(line)["command"].startswith("truelabel reproduce englesson2023/figure-2 ") for line in lines)
    assert sorted(json.loads(line)["setting"]["options"]["residual"] for line in lines) == [1.0, 2.0]


def test_the_list_of_one_paper_or_table(cli: Cli) -> None:
    names = [entry["name"] for entry in json.loads(cli("reproduce", "englesson2023", "--list", "--json")[1])]
    assert names == [f"englesson2023/{table.name}" for table in PAPERS["englesson2023"].tables]
    (only,) = json.loads(cli("reproduce", "englesson2023/table-3", "--list", "--json")[1])
    assert only["name"] == "englesson2023/table-3"


def test_what_needs_no_training_means_something_at_every_scale(cli: Cli) -> None:
    smoke = ("--scale", "smoke", "--device", "cpu")
    exact = cli("reproduce", "englesson2023/figure-2", *smoke)[1]
    assert "the numbers mean nothing" not in " ".join(exact.split())
    trained = cli("reproduce", "englesson2023/figure-7", *smoke)[1]
    assert "the numbers mean nothing" in " ".join(trained.split())


def test_shards_say_that_a_search_has_a_second_half(cli: Cli) -> None:
    table = ("reproduce", "collier2020/table-1", "--scale", "smoke", "--device", "cpu", "--rows", "Ours*")
    part = (*table, "--columns", "MNIST", "--grid", "temperature=0.1,1,5,10")
    ends = [cli(*part, "--shard", shard, "--results", shard[0])[2] for shard in ("1/2", "2/2")]
    assert all(
        "1 place to be chosen by searches that other shards have a part in: join the records of all shards" in end
        for end in ends
    )
    assert "temperature = 5" in "".join(ends)


def test_what_is_missing_is_named_and_nothing_is_written(cli: Cli) -> None:
    code, printed, errors = cli("reproduce", "englesson2023/figure-7")
    assert code == 1
    assert "1 run left for their data: mnist is not in " in errors
    assert "train-images-idx3-ubyte" in errors
    assert "not run" in printed
    assert not Path("results").exists()


def test_a_page_is_written(cli: Cli) -> None:
    assert cli("reproduce", "englesson2023/figure-2")[0] == 0
    code, printed, errors = cli("reproduce", "englesson2023", "--markdown", "page.md")
    assert (code, printed, errors) == (0, "wrote page.md\n", "")
    text = Path("page.md").read_text()
    assert "## figure-2: loss with the best variance, against the residual" in text
    assert "| `englesson2023/table-1` |" in text.split("## Not run yet")[1]


def test_a_part_of_a_grid_is_searched_and_the_record_says_so(cli: Cli) -> None:
    table = ("reproduce", "collier2020/table-1", "--scale", "smoke", "--device", "cpu", "--rows", "Ours*")
    part = (*table, "--columns", "MNIST*", "--grid", "temperature=5,10")
    code, printed, errors = cli(*part)
    assert code == 0
    assert errors.endswith("2 new records in runs/reproduce/smoke/collier2020.jsonl\n")
    assert "smoke scale, temperature among 5, 10" in " ".join(printed.split())
    lines = [json.loads(line) for line in Path("runs/reproduce/smoke/collier2020.jsonl").read_text().splitlines()]
    assert [line["setting"]["options"]["temperature"] for line in lines] == [5, 10]
    assert {json.dumps(line["variation"]) for line in lines} == {
        '{"scale": "smoke", "grid": {"temperature": [5.0, 10.0]}}'
    }
    again = cli(*part[:-1], "temperature=10")
    assert again[2] == "0 new records in runs/reproduce/smoke/collier2020.jsonl\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nobody"], "there is no paper 'nobody': choose from"),
        (["englesson2023/table-9"], "englesson2023 has no 'table-9': choose from table-1"),
        (["englesson2023/table-1", "--scale", "huge"], "scale must be one of smoke, small, paper, got 'huge'"),
        (["englesson2023/table-1", "--rows", "nope"], "--rows 'nope' matches nothing: choose from MNIST: CE, "),
        (["englesson2023", "--rows", "nope"], "--rows 'nope' matches nothing: see truelabel reproduce --list"),
        (
            ["englesson2023/figure-2", "--columns", "r = 3"],
            "--columns 'r = 3' matches nothing: choose from r = 0, r = 0.25",
        ),
        (
            ["englesson2023", "--rows", "λ*", "--columns", "asym 40"],
            "no table has a place with --rows λ* and --columns asym 40",
        ),
        (["englesson2023/table-1", "--shard", "5/4"], "shard must be NUMBER/OF with a number from 1 to OF, got 5/4"),
        (["englesson2023/table-1", "--shard", "half"], "shard must be NUMBER/OF, such as 3/16, got 'half'"),
        (["englesson2023/table-1", "--workers", "0"], "--workers must be at least 1, got 0"),
        (["englesson2023/table-1", "--minutes", "-1"], "--minutes must be at least 0, got -1"),
        (["englesson2023/table-1", "--minutes", "nan"], "--minutes must be at least 0, got nan"),
        (["englesson2023/table-1", "--gpus", "-1"], "--gpus must be at least 0, got -1"),
        (["englesson2023/table-1", "--network", "foo"], "unknown network 'foo': choose from auto, "),
        (["englesson2023/table-1", "--test-examples", "0"], "--test-examples must be at least 1, got 0"),
        (["englesson2023/table-1", "--noise-learning-rate", "0"], "noise_learning_rate must be positive and finite"),
        (["englesson2023/table-1", "--seeds", "0"], "--seeds must be at least 1, got 0"),
        (["englesson2023/table-1", "--epochs", "0"], "epochs must be a whole number of at least 1, got 0"),
        (["englesson2023/table-1", "--on", "mars"], "--on must be processes or ray, got 'mars'"),
        (["englesson2023/table-1", "--precision", "64"], "precision must be one of 32-true, bf16-mixed, got '64'"),
        (["englesson2023/table-1", "--device", "tpu"], "device must be one of auto, cpu, cuda, mps, got 'tpu'"),
        (["collier2020/table-1", "--grid", "temperature=7"], "--grid temperature=7: Ours, "),
        (["collier2020/table-1", "--grid", "q=1"], "--grid q: no grid of table-1 has it; choose from "),
        (
            ["collier2020/table-1", "--grid", "temperature"],
            "--grid must be NAME=VALUES, such as temperature=1,5,10, got",
        ),
        (["collier2020/table-1", "--grid", "softness=1", "--grid", "softness=2"], "--grid has softness twice"),
    ],
)
def test_a_wrong_call_is_one_line(arguments: list[str], message: str, cli: Cli) -> None:
    code, printed, errors = cli("reproduce", *arguments)
    assert (code, printed) == (1, "")
    assert errors.startswith(f"error: {message}")
    assert errors.count("\n") == 1
    assert not Path("results").exists()


def test_a_page_that_cannot_be_written_is_told_in_a_line(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    code, _, errors = cli("reproduce", "englesson2023", "--markdown", str(tmp_path / "file" / "page.md"))
    assert code == 1
    assert errors.startswith("error: --markdown ")
    assert errors.endswith("): name another file\n")
