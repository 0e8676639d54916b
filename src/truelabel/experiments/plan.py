"""What is to be run for tables, given what has been run: nothing twice, and searches before what they decide."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.records import Record
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Cell, Table
from truelabel.methods.search import combinations

Finished = Mapping[str, Record]
"""Records of runs that ended well, by id."""


@dataclass(frozen=True)
class Planned:
    """One run.

    Attributes:
        setting: what is run.
        seed: with which seed.
        label: what to call it on the way.
    """

    setting: Setting | Calculation
    seed: int
    label: str

    @cached_property  # this and the next two: every run is asked anew, again and again
    def id(self) -> str:
        """Of its record."""
        return self.setting.identity(self.seed)

    @cached_property
    def cost(self) -> float:
        """How long it takes, in no unit: epochs times examples."""
        return cost_of(self.setting.to_json())

    @cached_property
    def kind(self) -> tuple[str, ...]:
        """What takes as long for the same cost: data, network and method."""
        return kind_of(self.setting.to_json())


def cost_of(setting: Mapping[str, Any]) -> float:
    """:attr:`Planned.cost` of a setting as records have it; what takes all of its data has some 50,000 examples."""
    return 1.0 if "calculation" in setting else float(setting["training"]["epochs"] * (setting["train"] or 50_000))


def kind_of(setting: Mapping[str, Any]) -> tuple[str, ...]:
    """:attr:`Planned.kind` of a setting as records have it."""
    names = ("calculation",) if "calculation" in setting else ("data", "network", "method")
    return tuple(str(setting[name]) for name in names)


@dataclass(frozen=True)
class Shard:
    """One of several equal parts of all runs, for as many machines.

    Example:
        >>> Shard.parse("3/16")
        Shard(number=3, of=16)
    """

    number: int = 1
    of: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.number <= self.of:
            raise ValueError(f"shard must be NUMBER/OF with a number from 1 to OF, got {self.number}/{self.of}")

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From ``"3/16"``."""
        found = re.fullmatch(r"(\d+)/(\d+)", text)
        if not found:
            raise ValueError(f"shard must be NUMBER/OF, such as 3/16, got {text!r}")
        return cls(int(found[1]), int(found[2]))

    def has(self, run: str) -> bool:
        """Whether the run of that id belongs to it: the same on every machine, whatever has been run."""
        return int(run, 16) % self.of == self.number - 1


def narrowed(table: Table, rows: Sequence[str] = (), columns: Sequence[str] = ()) -> Table:
    """The part of a table whose rows and columns match patterns such as ``"MNIST*"``: one of them, or any if none.

    Raises:
        ValueError: if nothing matches.
    """
    cells = tuple(cell for cell in table.cells if _matches(cell.row, rows) and _matches(cell.column, columns))
    if not cells:
        raise ValueError(
            f"no place of {table.name} has rows={_said(rows)} and columns={_said(columns)}: "
            f"its rows are {', '.join(table.rows)}; its columns {', '.join(table.columns)}"
        )
    kept = {(cell.row, cell.column) for cell in cells}
    published = {place: number for place, number in table.published.items() if place[:2] in kept}
    return replace(table, cells=cells, published=published)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _said(patterns: Sequence[str]) -> str:
    return " or ".join(map(repr, patterns)) or "any"


def chosen(cell: Cell, finished: Finished) -> dict[str, Any] | None:
    """The options that the noisy validation part of the first seed chooses; None until all have been tried."""
    if not cell.grid:
        return {}
    tried = []
    for options in combinations(cell.grid):
        record = finished.get(_with(cell, options).identity(0))
        if record is None:
            return None
        valid = record["valid"]
        tried.append((valid["accuracy"] if cell.chosen_by == "accuracy" else -valid["loss"], options))
    return max(tried, key=lambda pair: pair[0])[1]


def runs_of(cell: Cell, seeds: int, finished: Finished) -> list[tuple[Setting | Calculation, int]]:
    """Settings and seeds that the place needs, as far as that is known: of a search, first all that it tries."""
    options = chosen(cell, finished)
    if options is None:
        return [(_with(cell, tried), 0) for tried in combinations(cell.grid)]
    return [(_with(cell, options), seed) for seed in range(seeds)]


def longest_last(planned: Sequence[Planned]) -> list[Planned]:
    """A stack for several workers: runs popped from its end begin with the longest, so that none straggles.

    Those that cost the same come off it in their order.
    """
    stack = list(reversed(planned))
    stack.sort(key=lambda run: run.cost)
    return stack


def due(tables: Iterable[tuple[Table, int]], finished: Finished) -> list[Planned]:
    """Runs that are still to be done, each once, whichever tables want it.

    Args:
        tables: tables at their scale, and how many seeds.
        finished: what has been done.
    """
    wanted: dict[str, Planned] = {}
    for table, seeds in tables:
        for cell in table.cells:
            for setting, seed in runs_of(cell, seeds, finished):
                where = f"{table.name}, {cell.row}, {cell.column}{_tried(cell, setting)}"
                planned = Planned(setting, seed, f"{where}, seed {seed}")
                if planned.id not in finished:
                    wanted.setdefault(planned.id, planned)
    return list(wanted.values())


def undecided(tables: Iterable[tuple[Table, int]], finished: Finished) -> int:
    """How many places have a search that is not over, and runs that wait for what it chooses."""
    return sum(chosen(cell, finished) is None for table, _ in tables for cell in table.cells)


def scored(cell: Cell, seeds: int, finished: Finished) -> list[Record]:
    """The records of a place that are there, one a seed."""
    if chosen(cell, finished) is None:
        return []
    runs = (setting.identity(seed) for setting, seed in runs_of(cell, seeds, finished))
    return [finished[run] for run in runs if run in finished]


def tried(cell: Cell, finished: Finished) -> tuple[int, int]:
    """How many trainings of a search are there, and how many it has."""
    options: Sequence[dict[str, Any]] = list(combinations(cell.grid)) if cell.grid else []
    return sum(_with(cell, given).identity(0) in finished for given in options), len(options)


def _tried(cell: Cell, setting: Setting | Calculation) -> str:
    """The searched options that a run has."""
    return "".join(f", {name} = {setting.options[name]}" for name in cell.grid)


def _with(cell: Cell, options: Mapping[str, Any]) -> Setting | Calculation:
    if isinstance(cell.setting, Calculation):
        return cell.setting
    return cell.setting.with_options(**options) if options else cell.setting
