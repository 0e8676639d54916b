"""A table of a paper as data: rows, columns, metrics, seeds, published numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from truelabel.checks import check_whole
from truelabel.experiments.calculation import Calculation
from truelabel.experiments.setting import Setting

Test = Literal["paired", "welch"]
Place = tuple[str, str]
"""Row and column."""


@dataclass(frozen=True)
class Metric:
    """A number of a record, and how it is written.

    Attributes:
        name: of the score in the record.
        title: what the table calls it.
        factor: what it is multiplied by: 100 for percent.
        digits: behind the point.
        better: whether more or less of it is.
        shows: the number, the "options" that a search chose, or its "curve" over epochs.
        spread: over seeds, beside the mean: its standard deviation, or a bootstrapped 95 % "interval" of the mean.
    """

    name: str
    title: str
    factor: float = 1.0
    digits: int = 2
    better: Literal["higher", "lower"] = "higher"
    shows: Literal["score", "options", "curve"] = "score"
    spread: Literal["std", "interval"] = "std"

    @property
    def as_curve(self) -> Metric:
        """The same over epochs."""
        return replace(self, shows="curve")


OPTIONS_CHOSEN = Metric("options", "options chosen", shows="options")
ACCURACY = Metric("accuracy", "test accuracy, %", 100)


@dataclass(frozen=True)
class Published:
    """What a paper prints in one place: a number with its spread, or words.

    Attributes:
        mean: as printed, in the unit of the metric; None where there are only words.
        std: its standard deviation, None if not given.
        text: as printed, with the marks of significance.
    """

    mean: float | None
    std: float | None = None
    text: str = ""

    @property
    def plain(self) -> str:
        """The text without the stars that make it bold."""
        return self.text.replace("**", "")


@dataclass(frozen=True)
class Cell:
    """What is run for one place of a table.

    Attributes:
        row: its name, which starts with that of its block where a table has blocks.
        column: its name.
        setting: what is run.
        grid: values of options among which the first seed's noisy validation part chooses; the other seeds take that.
        chosen_by: "accuracy" on that part, or "likelihood".
    """

    row: str
    column: str
    setting: Setting | Calculation
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    chosen_by: Literal["accuracy", "likelihood"] = "accuracy"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table, or a figure with a measurement.

    Attributes:
        name: such as "table-1" or "figure-3".
        title: what it shows, in a line.
        cells: what is run for its places.
        metrics: what is shown of each.
        seeds: how many the paper has; one where it does not say.
        published: printed numbers by row, column and name of the metric.
        test: the paper's test of significance, between a row and ``against`` in the same column and block.
        against: the row that others are compared with, as the end of its name; the best of the column if None.
        notes: what differs from the paper, or is not known about it.
    """

    name: str
    title: str
    cells: tuple[Cell, ...]
    metrics: tuple[Metric, ...] = (ACCURACY,)
    seeds: int = 1
    published: Mapping[tuple[str, str, str], Published] = field(default_factory=dict)
    test: Test | None = None
    against: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_whole("seeds", self.seeds)
        places = [(cell.row, cell.column) for cell in self.cells]
        if not places:
            raise ValueError(f"{self.name} has no cells")
        if len(set(places)) < len(places):
            twice = next(place for place in places if places.count(place) > 1)
            raise ValueError(f"{self.name} has two cells in row {twice[0]!r}, column {twice[1]!r}")
        names = {metric.name for metric in self.metrics}
        for row, column, metric in self.published:
            if metric not in names:
                raise ValueError(f"{self.name} has no metric {metric!r}, for which a number is published")
            if row not in self.rows or column not in self.columns:
                raise ValueError(f"{self.name} has no place {row!r}, {column!r}, for which a number is published")

    @property
    def rows(self) -> tuple[str, ...]:
        """In order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> tuple[str, ...]:
        """In order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))


@dataclass(frozen=True)
class Paper:
    """What is reproduced of one paper.

    Attributes:
        name: such as "englesson2023".
        title: authors, year and title.
        tables: all of its tables and of its figures with a measurement.
    """

    name: str
    title: str
    tables: tuple[Table, ...]


_NUMBER = re.compile(r"^\**(?P<mean>[-−]?\d+(?:\.\d+)?)\**(?:\s*±\s*(?P<std>\d+(?:\.\d+)?))?\**(?P<mark>[*†‡]*)$")


def printed(
    text: str, columns: Sequence[str], metrics: Sequence[str] = ("accuracy",), block: str = ""
) -> dict[tuple[str, str, str], Published]:
    """Published numbers from lines such as those of the paper's table.

    Args:
        text: a line a row: its name, then its numbers, all separated by bars. "n/a", "–" or nothing: none is printed.
        columns: what the numbers are of, in order; with several metrics each column has as many numbers, side by side.
        metrics: names of the metrics.
        block: put before the names of rows.

    Example:
        >>> table = printed("CE | 99.27±0.07 | n/a", ["0%", "20%"])
        >>> table
        {('CE', '0%', 'accuracy'): Published(mean=99.27, std=0.07, text='99.27±0.07')}
    """
    places = [(column, metric) for column in columns for metric in metrics]
    numbers: dict[tuple[str, str, str], Published] = {}
    for line in text.strip().splitlines():
        row, *values = (part.strip() for part in line.split("|"))
        if len(values) != len(places):
            raise ValueError(f"row {row!r} has {len(values)} numbers for {len(places)} places: mend the text")
        for (column, metric), value in zip(places, values, strict=True):
            if value not in ("", "n/a", "–", "-"):
                numbers[block + row, column, metric] = _published(value)
    return numbers


def _published(value: str) -> Published:
    found = _NUMBER.match(value)
    if found is None:
        return Published(None, None, value)
    std = found["std"]
    return Published(float(found["mean"].replace("−", "-")), None if std is None else float(std), value)
