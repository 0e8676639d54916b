"""The command line as a whole, in processes of its own where that matters."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import truelabel
from truelabel.cli.main import app, main

Cli = Callable[..., tuple[int, str, str]]
VERBS = ["ask", "data", "demo", "export", "fuse", "import", "methods", "predict", "report", "reproduce", "train"]


def process(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "truelabel", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


HEAVY = {"lightning_fabric", "narwhals", "numpy", "PIL", "pyarrow", "pydantic", "scipy", "skimage", "sklearn", "torch"}
"""None of these loads in less than a tenth of a second; help has half a second in all."""

HELP = """
import sys
from truelabel.cli.main import app
try:
    app()
finally:
    print("loaded:", *sys.modules, file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], *([verb, "--help"] for verb in VERBS)], ids=" ".join)
def test_help_answers_at_once_because_it_loads_nothing_heavy(arguments: list[str]) -> None:
    done = subprocess.run([sys.executable, "-c", HELP, *arguments], capture_output=True, text=True, check=True)
    assert "Usage:" in done.stdout
    label, *loaded = done.stderr.split()
    assert label == "loaded:"
    assert "typer" in loaded
    assert HEAVY.isdisjoint(loaded)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fuse none.csv --out {out}", "error: there is no file or folder none.csv: check the path\n"),
        (
            "train {shelf}/nan.npy {shelf}/labels.npy --out {out}",
            "contains NaN or infinity in row 5: remove or fill it\n",
        ),
    ],
    ids=["fuse", "train"],
)
def test_bad_input_is_one_line_in_a_process_too(arguments: str, message: str, shelf: Path, tmp_path: Path) -> None:
    done = process(*arguments.format(shelf=shelf, out=tmp_path / "out").split())
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.endswith(message)
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_version(cli: Cli) -> None:
    assert cli("--version") == (0, f"truelabel {truelabel.__version__}\n", "")


def test_every_verb_is_listed_and_explains_itself(cli: Cli) -> None:
    assert sorted([*(command.name or "" for command in app.registered_commands), "data"]) == VERBS
    for arguments in ((), ("--help",), ("-h",)):
        _, printed, _ = cli(*arguments)
        for verb in VERBS:
            assert f" {verb} " in printed
    for verb in (*VERBS, "data list", "data fetch", "data where"):
        code, printed, errors = cli(*verb.split(), "--help")
        assert (code, errors) == (0, "")
        assert f"truelabel {verb}" in printed


@pytest.mark.parametrize(
    "arguments", [("nope",), ("train",), ("fuse", "labels.csv", "--nope"), ("demo", "--seeds", "x")]
)
def test_a_wrong_call_says_how_to_call(arguments: tuple[str, ...], cli: Cli) -> None:
    code, printed, errors = cli(*arguments)
    assert (code, printed) == (2, "")
    assert errors.startswith("Usage: ")
    assert "Traceback" not in errors


class OddError(ValueError):
    """Says nothing, or too much."""


@pytest.mark.parametrize(("said", "shown"), [("", "OddError"), ("two\n  lines", "two lines"), ("plain", "plain")])
def test_every_message_becomes_one_line(
    said: str, shown: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> None:
        raise OddError(said)

    monkeypatch.setattr("truelabel.cli.main.app", fail)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err == f"error: {shown}\n"
    monkeypatch.setenv("TRUELABEL_DEBUG", "1")
    with pytest.raises(OddError):
        main()


def test_a_mistake_of_the_library_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise KeyError("inside")

    monkeypatch.setattr("truelabel.cli.main.app", fail)
    with pytest.raises(KeyError):
        main()


def test_arguments_become_options() -> None:
    from truelabel.cli.main import as_options

    assert as_options("pass example= one of id, who") == "pass --example one of id, who"
    assert as_options("leave it out with drop= or name columns=") == "leave it out with --drop or name --features"
    assert as_options("pass size=(H, W)") == "pass --size HxW"
    assert as_options("label=3 is odd") == "label=3 is odd"
    assert as_options("pass another layout=, or their pattern=") == "pass another --layout, or their --pattern"
    assert as_options("pass void=255 if it means no label") == "pass --void 255 if it means no label"
    assert as_options("save them alike, or pass normalise='all'") == "save them alike, or pass --normalise all"
    assert as_options("or pass unread='drop' or 'keep'") == "or pass --drop-unlabelled"
    shown = as_options("pass layout='reader-folders', 'case-folders' or 'suffixes', or images=")
    assert shown == "pass --layout reader-folders, case-folders or suffixes, or --images"
    assert as_options("worse than it got: use majority_vote") == "worse than it got: use --method majority-vote"
