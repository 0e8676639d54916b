"""How much of a paper's protocol is run: all of it, or as much as a laptop or a minute allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from truelabel.checks import check_whole
from truelabel.experiments.calculation import Calculation
from truelabel.experiments.setting import Setting
from truelabel.experiments.stand_ins import STAND_INS
from truelabel.experiments.table import Cell, Place, Table
from truelabel.methods import get_method
from truelabel.training.config import Precision

ScaleName = Literal["smoke", "small", "paper"]

IN_EPOCHS = ("warm_up", "ramp", "burn_in", "revision_epochs", "weight_epochs")
"""Options of methods that are lengths of time, and shrink with the epochs."""

DRAWS = ("samples", "prediction_samples", "restarts")
"""Options of methods that are numbers of draws: a smoke test makes do with few."""


@dataclass(frozen=True)
class Scale:
    """Bounds on a protocol.

    Attributes:
        examples: training examples at most.
        test: test examples at most.
        epochs: at most.
        seeds: at most.
        stand_in: made-up files in the layout of the data instead of the data.
        grid: values of each option at most, in a search.
        every_place: all places of a table; otherwise as few as have every row and every column among them.
    """

    examples: int | None = None
    test: int | None = None
    epochs: int | None = None
    seeds: int | None = None
    stand_in: bool = False
    grid: int | None = None
    every_place: bool = True


SCALES: dict[ScaleName, Scale] = {
    "smoke": Scale(examples=48, test=24, epochs=1, seeds=1, stand_in=True, grid=1, every_place=False),
    "small": Scale(examples=1000, test=1000, epochs=5, seeds=1, grid=2),
    "paper": Scale(),
}
SMOKE_NETWORKS = {"unet": "unet:4", "mlp": "mlp:16"}
"""What stands for networks in a smoke test, by the start of their names; pictures get the smallest network there is."""


@dataclass(frozen=True, kw_only=True)
class Variation:
    """What is run instead of the paper's protocol; part of every record.

    Attributes:
        scale: "smoke" (seconds, stand-in data), "small" (minutes on a CPU) or "paper".
        epochs: instead of the paper's; steps of the schedule and lengths in epochs among the options shrink along.
        examples: training examples instead of the paper's.
        test: test examples.
        precision: of matrix products.
        network: instead of the paper's.
        batch_size: instead of the paper's.

    Example:
        >>> Variation(scale="paper", epochs=30).says()
        'paper scale, 30 epochs'
    """

    scale: ScaleName = "paper"
    epochs: int | None = None
    examples: int | None = None
    test: int | None = None
    precision: Precision | None = None
    network: str | None = None
    batch_size: int | None = None

    def __post_init__(self) -> None:
        if self.scale not in get_args(ScaleName):
            raise ValueError(f"scale must be one of {', '.join(get_args(ScaleName))}, got {self.scale!r}")
        for name in ("epochs", "examples", "test", "batch_size"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))
        if self.precision is not None and self.precision not in get_args(Precision):
            raise ValueError(f"precision must be one of {', '.join(get_args(Precision))}, got {self.precision!r}")

    @property
    def bounds(self) -> Scale:
        """What the scale allows."""
        return SCALES[self.scale]

    def to_json(self) -> dict[str, Any]:
        """What was said, without what was not."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def says(self) -> str:
        """In words."""
        words = {"epochs": "epochs", "examples": "training examples", "test": "test examples"}
        said = [f"{value} {words[name]}" for name, value in self.to_json().items() if name in words]
        said += [str(value) for value in (self.network, self.precision) if value is not None]
        said += [f"batches of {self.batch_size}"] if self.batch_size is not None else []
        return ", ".join([f"{self.scale} scale", *said])


def varied(setting: Setting | Calculation, variation: Variation) -> Setting | Calculation:
    """A setting at a scale: fewer examples and epochs, and what depends on their number; a calculation as it is."""
    if isinstance(setting, Calculation):
        return setting
    bounds = variation.bounds
    setting = replace(
        setting,
        train=_least(variation.examples or setting.train, bounds.examples),
        test=_least(variation.test or setting.test, bounds.test),
        network=variation.network or setting.network,
    )
    config = setting.training
    epochs = _least(variation.epochs or config.epochs, bounds.epochs) or config.epochs
    if epochs != config.epochs:
        share = epochs / config.epochs
        steps = tuple(round(step * share) for step in config.step_epochs)
        config = replace(config, epochs=epochs, step_epochs=steps)
        setting = replace(setting, options=_shortened(setting, share), average=min(setting.average, epochs))
    config = replace(
        config,
        precision=variation.precision or config.precision,
        batch_size=variation.batch_size or config.batch_size,
        patience=config.patience if config.patience is None else min(config.patience, epochs),
    )
    setting = replace(setting, training=config)
    return _smoke(setting) if bounds.stand_in else setting


def varied_table(table: Table, variation: Variation) -> Table:
    """A table at a scale: its settings, fewer seeds, fewer values to search, fewer places."""
    bounds = variation.bounds
    cells = table.cells if bounds.every_place else _covering(table)
    return replace(
        table,
        cells=tuple(
            replace(cell, setting=varied(cell.setting, variation), grid=_fewer(cell.grid, bounds.grid))
            for cell in cells
        ),
        seeds=_least(table.seeds, bounds.seeds) or table.seeds,
        published={
            place: number
            for place, number in table.published.items()
            if bounds.every_place or any(place[:2] == (cell.row, cell.column) for cell in cells)
        },
    )


def _least(value: int | None, bound: int | None) -> int | None:
    return value if bound is None else bound if value is None else min(value, bound)


def _shortened(setting: Setting, share: float) -> dict[str, Any]:
    options = {**get_method(setting.method).options(), **setting.options}
    lengths = {name: value for name, value in options.items() if name in IN_EPOCHS and value}
    shorter = {name: max(1, round(value * share)) for name, value in lengths.items()}
    if "rounds" in options:  # each has an epoch at least
        shorter["rounds"] = min(options["rounds"], max(1, round(setting.training.epochs * share)))
    return {**setting.options, **shorter}


def _smoke(setting: Setting) -> Setting:
    options = get_method(setting.method).options()
    few = {name: min(value, 4) for name, value in {**options, **setting.options}.items() if name in DRAWS}
    family = setting.network.split(":")[0]
    network = SMOKE_NETWORKS.get(family, setting.network)
    if family.startswith(("resnet", "wrn", "lenet", "tanno", "collier")):
        network = "tanno-cnn:4"
    config = replace(setting.training, batch_size=min(setting.training.batch_size, 16))
    fitting = STAND_INS[setting.data].options if setting.data in STAND_INS else {}
    return replace(
        setting,
        options={**setting.options, **few},
        network=network,
        training=config,
        data_options={**setting.data_options, **fitting},
    )


def _fewer(grid: Mapping[str, Any], values: int | None) -> dict[str, Any]:
    return {name: tuple(given)[:values] for name, given in grid.items()}


def _covering(table: Table) -> tuple[Cell, ...]:
    """One cell of every row, each in another column as far as there are, and what it takes for every column."""
    kept: dict[Place, Cell] = {}
    for number, row in enumerate(table.rows):
        there = [cell for cell in table.cells if cell.row == row]
        cell = there[number % len(there)]
        kept[cell.row, cell.column] = cell
    for cell in table.cells:
        if cell.column not in {column for _, column in kept}:
            kept[cell.row, cell.column] = cell
    return tuple(cell for cell in table.cells if (cell.row, cell.column) in kept)
