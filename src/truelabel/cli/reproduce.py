"""``truelabel reproduce``: the papers' tables as commands."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truelabel.cli.reproduced import begins, ended, list_tables, show_tables, sum_up
from truelabel.cli.watching import watching

if TYPE_CHECKING:
    from truelabel.experiments.pool import Pool
    from truelabel.experiments.table import Table

RESULTS = Path("results")
WORK = Path("runs/reproduce")
MANY = 40
"""Rows or columns that an error does not list."""


def reproduce(
    table: Annotated[str, typer.Argument(help="PAPER/TABLE, PAPER/'table-[12]', or PAPER for all; see --list.")] = "",
    scale: Annotated[str, typer.Option(help="smoke: seconds, made-up data; small: minutes on a CPU; paper.")] = "paper",
    rows: Annotated[
        list[str] | None, typer.Option(help="Only rows that match, such as 'MNIST*'; once for each pattern.")
    ] = None,
    columns: Annotated[list[str] | None, typer.Option(help="Only columns that match, likewise.")] = None,
    seeds: Annotated[int | None, typer.Option(help="Seeds; the paper's number by default.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Epochs instead of the paper's.")] = None,
    examples: Annotated[int | None, typer.Option(help="Training examples instead of the paper's.")] = None,
    test_examples: Annotated[int | None, typer.Option(help="Test examples instead of all.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Batch size instead of the paper's.")] = None,
    precision: Annotated[str | None, typer.Option(help="32-true or bf16-mixed.")] = None,
    network: Annotated[str | None, typer.Option(help="Network instead of the paper's.")] = None,
    noise_learning_rate: Annotated[
        float | None, typer.Option(help="Learning rate of confusion matrices instead of the paper's.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Adam's ε instead of the protocol's.")] = None,
    grid: Annotated[
        list[str] | None,
        typer.Option(help="Search only these values of an option's grid: temperature=1,5,10; once for each option."),
    ] = None,
    workers: Annotated[int, typer.Option(help="Runs at once, each in a process of its own if more than 1.")] = 1,
    on: Annotated[str, typer.Option(help="processes of this machine, or a cluster of ray.")] = "processes",
    gpus: Annotated[float, typer.Option(help="With --on ray: GPUs of a run; a share lets several have one.")] = 0.0,
    shard: Annotated[str, typer.Option(help="The part that is this machine's: 3/16 is the third of sixteen.")] = "1/1",
    minutes: Annotated[float | None, typer.Option(help="Stop cleanly after this long; the next call goes on.")] = None,
    device: Annotated[str, typer.Option(help="auto, cpu, cuda or mps.")] = "auto",
    compiled: Annotated[bool, typer.Option("--compile", help="Let torch.compile fuse what it can.")] = False,
    results: Annotated[Path | None, typer.Option(help="Folder of the records: results, or under --work.")] = None,
    work: Annotated[Path, typer.Option(help="Folder of checkpoints.")] = WORK,
    show: Annotated[bool, typer.Option("--show", help="Run nothing: show what the records have.")] = False,
    markdown: Annotated[Path | None, typer.Option(help="Write the paper's page for the documentation.")] = None,
    list_: Annotated[bool, typer.Option("--list", help="List papers and tables.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Machine-readable.")] = False,
) -> None:
    """Run a table of a paper: what is missing is done, what has a record is not repeated."""
    import shlex
    import sys

    from truelabel.experiments.catalogue import find_tables
    from truelabel.experiments.pages import page
    from truelabel.experiments.plan import Shard
    from truelabel.experiments.records import Records
    from truelabel.experiments.runner import reproduce as run_tables
    from truelabel.experiments.runner import site_for
    from truelabel.experiments.scale import Variation, check_grid, varied_table
    from truelabel.training.memory import keep_freed_memory

    if list_ or not table:
        list_tables(table, as_json)
        return
    _check_numbers(seeds, test_examples, minutes)
    paper, tables = find_tables(table)
    variation = Variation(
        scale=scale,  # type: ignore[arg-type]  # it checks itself
        epochs=epochs,
        examples=examples,
        test=test_examples,
        precision=precision,  # type: ignore[arg-type]
        network=network,
        batch_size=batch_size,
        noise_learning_rate=noise_learning_rate,
        epsilon=epsilon,
        grid=_grid(grid or []),
    )
    folder = results or (RESULTS if scale == "paper" else work / scale)
    records = Records(folder / f"{paper.name}.jsonl")
    if markdown is not None:
        from truelabel.atomic import write_atomically

        try:
            write_atomically(markdown, page(paper, records.read()).encode())
        except OSError as error:
            raise ValueError(
                f"--markdown {markdown} cannot be written ({error.strerror}): name another file"
            ) from error
        typer.echo(f"wrote {markdown}")
        return
    matching = _matching(tables, rows or [], columns or [])
    check_grid(matching, variation)
    scaled = [varied_table(each, variation) for each in matching]
    if not show:
        keep_freed_memory()
        with watching() as watcher:
            report = run_tables(
                scaled,
                records,
                site_for(variation, work, device, compiled=compiled, command=shlex.join(["truelabel", *sys.argv[1:]])),
                variation=variation,
                seeds=seeds,
                shard=Shard.parse(shard),
                minutes=minutes,
                pool=_pool(on, workers, gpus),
                listen=lambda progress: watcher.say(ended(progress)),
                begin=lambda runs, seconds: watcher.say(begins(runs, seconds)),
                watch=watcher.watch,
            )
        sum_up(report, records.path, sharded=shard != "1/1")
    show_tables(paper, scaled, records.finished(), seeds, as_json, variation)
    # What waits for data is told; it is a failure if nothing of what was asked for is there.
    if not show and (report.failed or (report.missing and not report.there)):
        raise typer.Exit(1)


def _check_numbers(seeds: int | None, test_examples: int | None, minutes: float | None) -> None:
    for option, number in (("--seeds", seeds), ("--test-examples", test_examples)):
        if number is not None and number < 1:
            raise ValueError(f"{option} must be at least 1, got {number}")
    if minutes is not None and not minutes >= 0:  # nor NaN
        raise ValueError(f"--minutes must be at least 0, got {minutes:g}")


def _grid(texts: list[str]) -> tuple[tuple[str, tuple[float, ...]], ...]:
    """Values by option, from ``NAME=V1,V2``."""
    grid: dict[str, tuple[float, ...]] = {}
    for text in texts:
        name, _, values = text.partition("=")
        name = name.strip().replace("-", "_")
        if name in grid:
            raise ValueError(f"--grid has {name} twice: give all of its values at once, separated by commas")
        try:
            grid[name] = tuple(float(value) for value in values.split(","))
        except ValueError:
            raise ValueError(f"--grid must be NAME=VALUES, such as temperature=1,5,10, got {text!r}") from None
    return tuple(grid.items())


def _matching(tables: tuple[Table, ...], rows: list[str], columns: list[str]) -> list[Table]:
    """What matches of several tables, without those in which nothing does; every pattern must match something."""
    from truelabel.experiments.plan import narrowed

    _check_patterns("--rows", rows, [row for each in tables for row in each.rows])
    _check_patterns("--columns", columns, [column for each in tables for column in each.columns])
    if len(tables) == 1:
        return [narrowed(tables[0], rows, columns)]
    kept = []
    for each in tables:
        with contextlib.suppress(ValueError):
            kept.append(narrowed(each, rows, columns))
    if not kept:
        raise ValueError(
            f"no table has a place with --rows {' or '.join(rows)} and --columns {' or '.join(columns)}: "
            "see truelabel reproduce --list --json"
        )
    return kept


def _check_patterns(option: str, patterns: list[str], names: list[str]) -> None:
    import fnmatch

    there = list(dict.fromkeys(names))
    for pattern in patterns:
        if not any(fnmatch.fnmatchcase(name, pattern) for name in there):
            choices = (
                f"choose from {', '.join(there)}" if len(there) < MANY else "see truelabel reproduce --list --json"
            )
            raise ValueError(f"{option} {pattern!r} matches nothing: {choices}")


def _pool(on: str, workers: int, gpus: float) -> Pool:
    from truelabel.experiments.pool import Here, Processes, Ray

    if workers < 1:
        raise ValueError(f"--workers must be at least 1, got {workers}")
    if not 0 <= gpus < float("inf"):
        raise ValueError(f"--gpus must be at least 0, got {gpus:g}")
    if on == "ray":
        return Ray(workers, gpus)
    if gpus:
        raise ValueError("--gpus is for --on ray: processes of this machine share its GPU by themselves")
    if on != "processes":
        raise ValueError(f"--on must be processes or ray, got {on!r}")
    return Here() if workers == 1 else Processes(workers)
