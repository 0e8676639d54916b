"""Tables as Markdown, beside the paper's numbers, made anew from the records whenever these grow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields, replace

from truelabel.experiments.plan import Finished, due, scored
from truelabel.experiments.records import Record
from truelabel.experiments.scale import Variation, fitted, varied_table
from truelabel.experiments.summary import Entry, Summary, summarise
from truelabel.experiments.table import Cell, Metric, Paper, Place, Table

NOT_RUN = "not run"
NO_NUMBER = "–"
"""Shown where a run has no such number."""


def cell_lines(entry: Entry, digits: int, bold: bool = False) -> list[str]:
    """What one place shows, a line each: ours, the paper's, the difference.

    With ``bold`` there are Markdown's stars: of ours round what is as good as the best, of the paper's as printed.

    Example:
        >>> from truelabel.experiments.table import Published
        >>> cell_lines(Entry("92.3 ± 5.2 (5)", 92.3, 5.2, 5, Published(96.5, 1.2, "96.5±1.2"), -4.2), 1)
        ['92.3 ± 5.2 (5)', 'paper 96.5±1.2', '−4.2']
    """
    ours = f"{entry.text}{entry.mark}" if entry.text else NO_NUMBER if entry.ran else NOT_RUN
    lines = [f"**{ours}**" if bold and entry.best and entry.text else ours]
    if entry.published is not None:
        lines.append(f"paper {entry.published.text if bold else entry.published.plain}")
    if entry.difference is not None:
        lines.append(f"{entry.difference:+.{digits}f}".replace("-", "−"))
    return lines


def markdown(table: Table, summary: Summary) -> str:
    """A table as Markdown, one for each metric, without rows and columns of which nothing has been run.

    Args:
        table: at its scale.
        summary: its entries.
    """
    parts = (_metric_table(table, metric, summary) for metric in table.metrics)
    return "\n\n".join(part for part in parts if part)


def _metric_table(table: Table, metric: Metric, summary: Summary) -> str:
    """Empty if no row is shown."""
    run = [(row, column) for (row, column, name), entry in summary.items() if name == metric.name and entry.text]
    if not run:
        return ""
    rows = [row for row in table.rows if row in {row for row, _ in run}]
    columns = [column for column in table.columns if column in {column for _, column in run}]
    lines = [f"*{metric.title}*", ""]
    lines += ["| | " + " | ".join(map(_escaped, columns)) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        entries = [summary.get((row, column, metric.name)) for column in columns]
        texts = ["" if entry is None else "<br>".join(cell_lines(entry, metric.digits, bold=True)) for entry in entries]
        lines.append("| " + " | ".join([_escaped(row), *texts]) + " |")
    return "\n".join(lines)


def variations(records: Sequence[Record]) -> list[Variation]:
    """What there are records of, in the order in which they came; smoke tests show nothing.

    Where part of a grid was searched or Adam had another ε, the same without that comes first: what has no grid, or
    no Adam, is run alike in both.
    """
    known = {field.name for field in fields(Variation)}
    found: dict[Variation, None] = {}
    for record in records:
        said = record.get("variation", {})
        if said.get("scale", "paper") != "smoke" and said.keys() <= known:
            variation = Variation.from_json(said)
            plainer = replace(variation, epsilon=None)
            for each in (replace(plainer, grid=()), plainer, replace(variation, grid=()), variation):
                found[each] = None
    return list(found)


def page(paper: Paper, records: Sequence[Record]) -> str:
    """All that has been run of a paper, for the documentation."""
    finished = {record["id"]: record for record in records if "error" not in record}
    lines = [
        f"# {paper.name}",
        "",
        f"{paper.title}. Made by `make tables` from `results/{paper.name}.jsonl`; do not edit.",
        "",
        "Each place has our mean ± standard deviation and the number of seeds, the paper's number, and the difference. "
        "Bold is what is as good as the best of its column by Welch's test, if a table has that, and of the paper's "
        "what it prints so; *, † and ‡ are paired tests at 5, 1 and 0.1 %.",
        "",
    ]
    waiting = []
    for table in paper.tables:
        parts = list(_parts(table, finished, variations(records)))
        if parts:
            lines += [f"## {table.name}: {table.title}", "", *parts]
            lines += [f"- {note}" for note in table.notes] + [""] * bool(table.notes)
        else:
            waiting.append(f"| `{paper.name}/{table.name}` | {table.title} | {len(due([(table, table.seeds)], {}))} |")
    if waiting:
        lines += ["## Not run yet", "", "| table | what it shows | runs |", "|---|---|---|", *waiting, ""]
    return "\n".join(lines).rstrip() + "\n"


def _parts(table: Table, finished: Finished, found: Sequence[Variation]) -> Iterator[str]:
    shown: dict[Place, list[Cell]] = {}
    for each in found:
        fit = fitted(table, each)
        if fit is None:
            continue
        fitting, variation = fit
        at_scale = varied_table(fitting, variation)
        summary = summarise(at_scale, finished)
        # What a variation does not change, such as a calculation or a row without the grid, is told the first time, and
        # again only beside what it changes.
        new = [cell for cell in at_scale.cells if cell not in shown.get((cell.row, cell.column), [])]
        for cell in new:
            shown.setdefault((cell.row, cell.column), []).append(cell)
        places = {(cell.row, cell.column) for cell in new}
        # Some values of a search that others have tried on the way are nothing to show.
        if any(entry.seeds for (row, column, _), entry in summary.items() if (row, column) in places):
            left = len(due([(at_scale, at_scale.seeds)], finished))
            state = "complete" if not left else "1 run is missing" if left == 1 else f"{left} runs are missing"
            yield f"**{variation.says()}**{_where(at_scale, finished)}; {state}.\n"
            yield f"{markdown(at_scale, summary)}\n"


def _where(table: Table, finished: Finished) -> str:
    """The machines that the runs of a table happened on; what is calculated has none."""
    records = [record for cell in table.cells for record in scored(cell, table.seeds, finished)]
    machines = dict.fromkeys(f"{r['device']}, torch {r['torch']}" for r in records if "device" in r)
    return f", on {' and '.join(machines)}" if machines else ""


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
