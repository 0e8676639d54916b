"""What ``truelabel reproduce`` says of tables and runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truelabel.cli.watching import duration

if TYPE_CHECKING:
    from truelabel.experiments.runner import Progress, Report
    from truelabel.experiments.scale import Variation
    from truelabel.experiments.table import Paper, Table


def list_tables(table: str, as_json: bool) -> None:
    """Tables whose name matches, or all: what they show, and how much there is to run."""
    from truelabel.experiments.catalogue import PAPERS, find_tables
    from truelabel.experiments.plan import due

    listed = [find_tables(table)] if table else [(paper, paper.tables) for paper in PAPERS.values()]
    told: list[dict[str, Any]] = [
        {
            "name": f"{paper.name}/{table.name}",
            "title": table.title,
            "rows": list(table.rows),
            "columns": list(table.columns),
            "metrics": [metric.name for metric in table.metrics],
            "seeds": table.seeds,
            "runs": len(due([(table, table.seeds)], {})),
            "notes": list(table.notes),
        }
        for paper, tables in listed
        for table in tables
    ]
    if as_json:
        import json

        typer.echo(json.dumps(told, indent=2, ensure_ascii=False))
        return
    from truelabel.cli.tables import show

    lines = [[each["name"], each["title"], each["seeds"], each["runs"]] for each in told]
    show(["table", "what it shows", "seeds", "runs"], lines, right=2)


def begins(runs: int, seconds: float | None) -> str:
    """The line before the first run.

    Example:
        >>> begins(4, 90.0)
        '4 runs to do, about 90 s by earlier records; a line for each that ends'
    """
    about = "" if seconds is None else f", about {duration(seconds)} by earlier records"
    return f"{_counted(runs, 'run')} to do{about}; a line for each that ends"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" + "s" * (count != 1)


def ended(progress: Progress) -> str:
    """The line for a run that ended."""
    record = progress.ended.record or {}
    if "error" in record:
        what = record["error"]
    else:
        numbers = {name: value for name, value in record.get("scores", {}).items() if isinstance(value, float)}
        what = ", ".join(f"{name} {value:.4g}" for name, value in list(numbers.items())[:4]) or progress.ended.end
    left = "" if progress.seconds_left is None else f"; about {duration(progress.seconds_left)} left"
    return f"[{progress.done}/{progress.total}] {progress.planned.label}: {what}{left}"


def sum_up(report: Report, path: Path, sharded: bool) -> None:
    """On standard error: what was done, and what to do about what was not."""
    parts = [f"{_counted(report.done, 'new record')} in {path}"]
    parts += [f"{_counted(report.failed, 'run')} failed, see there why"] if report.failed else []
    parts += [f"{report.stopped} stopped by the clock"] if report.stopped else []
    parts += [f"another call is doing {report.elsewhere}"] if report.elsewhere else []
    waiting = report.left - report.failed
    parts += [f"{waiting} left: run the same command again"] if waiting > 0 else []
    parts += ["what failed is tried again by the same command"] if report.failed else []
    if sharded and report.undecided:
        parts.append(
            f"{_counted(report.undecided, 'place')} to be chosen by searches that other shards have a part in: "
            "join the records of all shards and run the same command again"
        )
    typer.echo("; ".join(parts), err=True)
    for why, runs in report.missing.values():
        typer.echo(f"{_counted(runs, 'run')} left for their data: {why}", err=True)


def show_tables(
    paper: Paper,
    tables: list[Table],
    finished: dict[str, Any],
    seeds: int | None,
    as_json: bool,
    variation: Variation,
) -> None:
    """Tables beside the paper's numbers, on standard output."""
    from truelabel.experiments.summary import summarise, to_json

    summaries = [(table, summarise(table, finished, seeds)) for table in tables]
    if as_json:
        import json

        about = {"paper": paper.name, "variation": variation.to_json()}
        typer.echo(json.dumps([{**about, **to_json(*each)} for each in summaries], indent=2, ensure_ascii=False))
        return
    import sys

    from rich.text import Text

    from truelabel.cli.tables import show
    from truelabel.experiments.pages import cell_lines
    from truelabel.experiments.setting import Setting

    stars = not sys.stdout.isatty()  # where nothing can be bold
    for table, summary in summaries:
        for metric in table.metrics:
            lines = []
            for row in table.rows:
                entries = [summary.get((row, column, metric.name)) for column in table.columns]
                told = [("" if e is None else "\n".join(cell_lines(e, metric.digits, stars)), e) for e in entries]
                lines.append([row, *(Text(text, "bold" if e is not None and e.best else "") for text, e in told)])
            title = f"{paper.name}/{table.name}, {metric.title}: {table.title}"
            show(["", *table.columns], lines, title=title, whole=True)
        for note in table.notes:
            typer.echo(f"  {note}")
    trained = any(isinstance(cell.setting, Setting) for table, _ in summaries for cell in table.cells)
    smoke = trained and variation.scale == "smoke"
    made_up = "; made-up data and little training: the numbers mean nothing" if smoke else ""
    typer.echo(f"Ours (number of seeds), the paper's, the difference; {variation.says()}{made_up}.")
