"""The command line: one file a verb. Heavy imports wait until a verb runs."""

from __future__ import annotations

import os
import re
import sys
import warnings

import typer

from truelabel import __version__
from truelabel.cli import (
    ask,
    data,
    demo,
    export_labels,
    fuse,
    import_labels,
    methods,
    predict,
    report,
    reproduce,
    train,
)

app = typer.Typer(
    name="truelabel",
    help="Learn the truth from wrong labels: one noisy label per example, or many annotators who disagree.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    # Without a default for its own help, Typer loads pydantic before that of a verb, which takes 0.2 s.
    context_settings={"help_option_names": ["-h", "--help"], "default_map": {"help": False}},
)
app.command("demo")(demo.demo)
app.command("fuse")(fuse.fuse)
app.command("train")(train.train)
app.command("predict")(predict.predict)
app.command("import")(import_labels.import_)
app.command("export")(export_labels.export)
app.command("ask")(ask.ask)
app.command("report")(report.report)
app.command("methods")(methods.methods)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(data.app, name="data")


@app.callback(invoke_without_command=True)
def _version(version: bool = typer.Option(False, "--version", help="Show the version and leave.")) -> None:
    if version:
        typer.echo(f"truelabel {__version__}")
        raise typer.Exit


WORDS = {
    "size=(H, W)": "--size HxW",
    "use majority_vote": "use --method majority-vote",
    "raise max_iterations or tolerance": "raise --option max_iterations= or tolerance=",
    "layout='reader-folders', 'case-folders' or 'suffixes'": "--layout reader-folders, case-folders or suffixes",
    "pass images=None for masks only": "mend the name of the mask",
    "unread='drop' or 'keep'": "--drop-unlabelled",
    "mode='RGB' or 'L'": "--grey",
    "wide=True": "--wide",
    "fill='median'": "--fill median",
    "embed needs": "--embed needs",
    "embed names": "--embed names",
    "or leave embed out": "or leave --embed out",
}
"""What the library says, and what that is on the command line."""

OPTIONS = (
    "example|annotator|annotators|label|question|classes|text|id|drop|size|network|device|key|"
    "layout|images|readers|pattern|void|normalise|crop|patch|overlap|results"
)


def as_options(message: str) -> str:
    """Arguments of the library in a message, as options of the command line."""
    for said, meant in WORDS.items():
        message = message.replace(said, meant)
    message = re.sub(r"\bcolumns=", "--features", message)
    message = re.sub(r"\b(void|normalise)='?(\w+)'?", r"--\1 \2", message)
    return re.sub(rf"\b({OPTIONS})=(?=[\s,;:)]|$)", r"--\1", message)


_SAID: set[str] = set()
"""Warnings that were shown: the second time they tell nothing."""


def _one_line(message: Warning | str, *_: object, **__: object) -> None:
    line = f"warning: {as_options(' '.join(str(message).split()))}"
    if line not in _SAID:
        _SAID.add(line)
        print(line, file=sys.stderr)


def main() -> None:
    """Run the command line; what a user can mend is one line on standard error and a status of 1."""
    warnings.showwarning = _one_line
    _SAID.clear()
    try:
        app()
    except (ValueError, OSError, ArithmeticError, ImportError, RuntimeError) as error:
        if os.environ.get("TRUELABEL_DEBUG"):
            raise
        message = as_options(" ".join(str(error).split()) or type(error).__name__)
        print(f"error: {message}", file=sys.stderr)
        sys.exit(1)
