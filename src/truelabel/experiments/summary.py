"""What records say about a table: means over seeds, tests, and how far the paper is."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from truelabel.experiments.plan import Finished, chosen, scored, tried
from truelabel.experiments.records import Record
from truelabel.experiments.table import Cell, Metric, Published, Table
from truelabel.metrics import bootstrap_interval, paired_t_test, significance, welch_t_test

LEVEL = 0.05
"""Of Welch's test: what is not different from the best is marked as good as it."""

QUARTERS = 4
"""Points of a curve that are shown in a table."""


@dataclass(frozen=True)
class Entry:
    """One metric of one place.

    Attributes:
        text: as shown: mean, spread and number of seeds, the options chosen, or that of points of a curve; empty if
            not run.
        mean: over seeds, in the unit of the table; None where there is no number.
        std: standard deviation over seeds; None for fewer than two.
        seeds: how many there are.
        published: what the paper prints.
        difference: mean minus published mean.
        mark: of a paired test against another row: *, † or ‡.
        best: not significantly worse than the best of its column (Welch's test).
        ran: whether there are records, which may lack this number: some methods have none.
        curve: mean over seeds after every epoch, in the unit of the table; empty where there is no curve.
        curve_std: standard deviation over seeds; empty for fewer than two.
        interval: of the mean, bootstrapped over seeds; None for fewer than two, and unless the metric has it.
    """

    text: str = ""
    mean: float | None = None
    std: float | None = None
    seeds: int = 0
    published: Published | None = None
    difference: float | None = None
    mark: str = ""
    best: bool = False
    ran: bool = False
    curve: tuple[float, ...] = ()
    curve_std: tuple[float, ...] = ()
    interval: tuple[float, float] | None = None


Summary = dict[tuple[str, str, str], Entry]
"""Entries by row, column and name of the metric."""


def summarise(table: Table, finished: Finished, seeds: int | None = None) -> Summary:
    """All entries of a table at its scale.

    Args:
        table: at its scale.
        finished: records by id.
        seeds: instead of the table's own number.
    """
    seeds = seeds or table.seeds
    records = {(cell.row, cell.column): scored(cell, seeds, finished) for cell in table.cells}
    summary: Summary = {}
    for cell in table.cells:
        for metric in table.metrics:
            published = table.published.get((cell.row, cell.column, metric.name))
            found = records[cell.row, cell.column]
            if metric.shows == "options":
                entry = Entry(_options(cell, finished), published=published, seeds=len(found))
            elif metric.shows == "curve":
                entry = _curve(found, metric, published)
            else:
                entry = _entry(_values(found, metric), metric, published)
            summary[cell.row, cell.column, metric.name] = replace(entry, ran=bool(found))
    return _tested(table, summary, records)


def to_json(table: Table, summary: Summary) -> dict[str, Any]:
    """The same as plain values."""
    places = []
    for (row, column, metric), entry in summary.items():
        place = {"row": row, "column": column, "metric": metric, "ours": entry.text, "seeds": entry.seeds}
        place |= {"mean": entry.mean, "std": entry.std, "difference": entry.difference}
        place |= {"mark": entry.mark, "best": entry.best}
        paper = entry.published or Published(None, None)
        place |= {"paper": paper.plain or None, "paper_mean": paper.mean, "paper_std": paper.std}
        if entry.interval is not None:
            place["interval"] = list(entry.interval)
        if entry.curve:
            place |= {"curve": list(entry.curve), "curve_std": list(entry.curve_std)}
        places.append(place)
    return {"table": table.name, "title": table.title, "places": places, "notes": list(table.notes)}


def _values(records: Sequence[Record], metric: Metric) -> dict[int, float]:
    """Scores by seed, in the unit of the metric."""
    return {
        record["seed"]: metric.factor * record["scores"][metric.name]
        for record in records
        if isinstance(record["scores"].get(metric.name), int | float)
    }


def _entry(values: Mapping[int, float], metric: Metric, published: Published | None) -> Entry:
    if not values:
        return Entry(published=published)
    mean, std = _moments(list(values.values()))
    interval = None
    if metric.spread == "interval" and std is not None and math.isfinite(std):
        interval = bootstrap_interval(list(values.values()))
    text = f"{_said(mean, std, metric, interval)} ({len(values)})"
    printed = None if published is None else published.mean
    difference = None if printed is None else mean - printed
    return Entry(text, mean, std, len(values), published, difference, interval=interval)


def _moments(values: Sequence[float]) -> tuple[float, float | None]:
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, None
    return mean, statistics.stdev(values) if math.isfinite(mean) else math.nan


def _said(mean: float, std: float | None, metric: Metric, interval: tuple[float, float] | None = None) -> str:
    if interval is not None:
        low, high = interval
        return f"{mean:.{metric.digits}f} [{low:.{metric.digits}f}, {high:.{metric.digits}f}]"
    return f"{mean:.{metric.digits}f}" + ("" if std is None else f" ± {std:.{metric.digits}f}")


def _options(cell: Cell, finished: Finished) -> str:
    options = chosen(cell, finished)
    if options is None:
        there, of = tried(cell, finished)
        return f"{there} of {of} tried" if there else ""
    return ", ".join(f"{value:g}" if isinstance(value, int | float) else str(value) for value in options.values())


def _curve(records: Sequence[Record], metric: Metric, published: Published | None) -> Entry:
    """All of it, as far as the shortest goes; its text has the end of each quarter of the training."""
    curves = [record["curves"][metric.name] for record in records if record.get("curves", {}).get(metric.name)]
    if not curves:
        return Entry(published=published)
    points = [_moments([metric.factor * value for value in values]) for values in zip(*curves, strict=False)]
    ends = [max(1, round(len(points) * quarter / QUARTERS)) - 1 for quarter in range(1, QUARTERS + 1)]
    text = " → ".join(_said(*points[end], metric) for end in dict.fromkeys(ends))
    return Entry(
        f"{text} ({len(curves)})",
        seeds=len(curves),
        published=published,
        curve=tuple(mean for mean, _ in points),
        curve_std=tuple(std for _, std in points if std is not None),
    )


def block(row: str) -> str:
    """The block of a row, which its name starts with.

    Example:
        >>> block("MNIST: CE"), block("CE")
        ('MNIST', '')
    """
    name, colon, _ = row.partition(": ")
    return name if colon else ""


def _tested(table: Table, summary: Summary, records: Mapping[tuple[str, str], list[Record]]) -> Summary:
    """The same with the marks of the table's test, where two seeds or more are there."""
    if table.test is None:
        return summary
    out = dict(summary)
    for metric in table.metrics:
        values = {place: _values(found, metric) for place, found in records.items()}
        for (row, column), ours in values.items():
            rivals = [r for r in table.rows if block(r) == block(row) and len(values.get((r, column), ())) > 1]
            other = _against(table, metric, column, rivals, values)
            if other is None or len(ours) < 2:
                continue
            key = (row, column, metric.name)
            out[key] = _marked(table, out[key], ours, values[other, column], is_other=other == row)
    return out


def _against(
    table: Table,
    metric: Metric,
    column: str,
    rivals: Sequence[str],
    values: Mapping[tuple[str, str], Mapping[int, float]],
) -> str | None:
    if table.against is not None:
        return next((row for row in rivals if row.endswith(table.against)), None)
    sign = 1 if metric.better == "higher" else -1
    return max(rivals, key=lambda row: sign * statistics.fmean(values[row, column].values()), default=None)


def _marked(table: Table, entry: Entry, ours: Mapping[int, float], other: Mapping[int, float], is_other: bool) -> Entry:
    if table.test == "paired":
        common = sorted(ours.keys() & other.keys())
        if is_other or len(common) < 2:
            return entry
        test = paired_t_test([ours[seed] for seed in common], [other[seed] for seed in common])
        return replace(entry, mark=significance(test.p_value))
    test = welch_t_test(list(ours.values()), list(other.values()))
    return replace(entry, best=is_other or test.p_value >= LEVEL)
