"""How much of a paper's protocol is run: all of it, or as much as a laptop or a minute allows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

from truelabel.checks import check_whole
from truelabel.experiments.calculation import Calculation
from truelabel.experiments.setting import Setting
from truelabel.experiments.stand_ins import STAND_INS
from truelabel.experiments.table import Cell, Place, Table
from truelabel.methods import get_method
from truelabel.networks import check_network
from truelabel.training.config import Precision

ScaleName = Literal["smoke", "small", "paper"]

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
        grid: values of each option at most, in a search: as many, spread evenly.
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
    "small": Scale(examples=1000, test=1000, epochs=5, seeds=1, grid=2, every_place=False),
    "paper": Scale(),
}
SMOKE_NETWORKS = {"unet": "unet:4", "mlp": "mlp:16"}
"""What stands for networks in a smoke test, by the start of their names; pictures get the smallest network there is."""


@dataclass(frozen=True, kw_only=True)
class Variation:
    """What is run instead of the paper's protocol; part of every record.

    Attributes:
        scale: "smoke" (seconds, stand-in data), "small" (minutes on a CPU) or "paper".
        epochs: instead of the paper's; steps of the schedule shrink along, and no option is longer.
        examples: training examples instead of the paper's.
        test: test examples.
        precision: of matrix products.
        network: instead of the paper's.
        noise_learning_rate: of confusion matrices, instead of the paper's: in fewer steps they get less far.
        batch_size: instead of the paper's.
        epsilon: of Adam and AdamW, instead of the protocol's.
        grid: options with the only values of their grids that are searched, by name.

    Example:
        >>> Variation(scale="paper", epochs=30).says()
        'paper scale, 30 epochs'
        >>> Variation(grid=(("temperature", (1, 5, 10)),)).says()
        'paper scale, temperature among 1, 5, 10'
    """

    scale: ScaleName = "paper"
    epochs: int | None = None
    examples: int | None = None
    test: int | None = None
    precision: Precision | None = None
    network: str | None = None
    noise_learning_rate: float | None = None
    batch_size: int | None = None
    epsilon: float | None = None
    grid: tuple[tuple[str, tuple[float, ...]], ...] = ()

    def __post_init__(self) -> None:
        if self.scale not in get_args(ScaleName):
            raise ValueError(f"scale must be one of {', '.join(get_args(ScaleName))}, got {self.scale!r}")
        for name in ("epochs", "examples", "test", "batch_size"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))
        if self.network is not None:
            check_network(self.network)
        for name in ("noise_learning_rate", "epsilon"):
            value = getattr(self, name)
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive and finite, got {value}")
        if self.precision is not None and self.precision not in get_args(Precision):
            raise ValueError(f"precision must be one of {', '.join(get_args(Precision))}, got {self.precision!r}")
        if any(not values for _, values in self.grid) or len(dict(self.grid)) < len(self.grid):
            raise ValueError(f"grid must have every option once, with a value at least, got {self.grid}")
        # One subset is one variation, however it was said.
        plain = sorted((name, tuple(sorted({float(value) for value in values}))) for name, values in self.grid)
        object.__setattr__(self, "grid", tuple(plain))

    @classmethod
    def from_json(cls, said: Mapping[str, Any]) -> Variation:
        """What :meth:`to_json` of it says."""
        grid = tuple((name, tuple(values)) for name, values in said.get("grid", {}).items())
        return cls(**{**said, "grid": grid})

    @property
    def bounds(self) -> Scale:
        """What the scale allows."""
        return SCALES[self.scale]

    def to_json(self) -> dict[str, Any]:
        """What was said, without what was not."""
        said = {name: value for name, value in asdict(self).items() if value is not None and name != "grid"}
        return said | ({"grid": {name: list(values) for name, values in self.grid}} if self.grid else {})

    def says(self) -> str:
        """In words."""
        words = {"epochs": "epochs", "examples": "training examples", "test": "test examples"}
        said = [f"{value} {words[name]}" for name, value in self.to_json().items() if name in words]
        said += [str(value) for value in (self.network, self.precision) if value is not None]
        said += [f"batches of {self.batch_size}"] if self.batch_size is not None else []
        rate = self.noise_learning_rate
        said += [f"matrices at a rate of {rate:g}"] if rate is not None else []
        said += [f"Adam's ε {self.epsilon:g}"] if self.epsilon is not None else []
        said += [f"{name} among {_listed(values)}" for name, values in self.grid]
        return ", ".join([f"{self.scale} scale", *said])


def varied(setting: Setting | Calculation, variation: Variation) -> Setting | Calculation:
    """A setting at a scale: fewer examples and epochs, and what depends on their number; a calculation as it is."""
    if isinstance(setting, Calculation):
        return setting
    bounds = variation.bounds
    if bounds.stand_in:
        setting = _smoke(setting)
    # What was asked for goes before the bounds: the record tells it.
    setting = replace(
        setting,
        train=variation.examples or _least(setting.train, bounds.examples),
        test=variation.test or _least(setting.test, bounds.test),
        network=variation.network or setting.network,
    )
    config, epochs = setting.training, _epochs(setting, variation)
    if epochs != config.epochs:
        steps = tuple(round(step * epochs / config.epochs) for step in config.step_epochs)
        setting = replace(setting, options=_shortened(setting, epochs), average=min(setting.average, epochs))
        config = replace(config, epochs=epochs, step_epochs=steps)
    if variation.epsilon is not None and config.optimizer != "sgd":
        config = replace(config, epsilon=variation.epsilon)
    config = replace(
        config,
        precision=variation.precision or config.precision,
        batch_size=variation.batch_size or config.batch_size,
        noise_learning_rate=variation.noise_learning_rate or config.noise_learning_rate,
        patience=config.patience if config.patience is None else min(config.patience, epochs),
    )
    return replace(setting, training=config)


def varied_table(table: Table, variation: Variation) -> Table:
    """A table at a scale: its settings, fewer seeds, fewer values to search, fewer places.

    Raises:
        ValueError: if the variation states a value that a cell does not search.
    """
    bounds = variation.bounds
    grids = {(cell.row, cell.column): _grid(cell, variation, table.name) for cell in table.cells}
    cells = table.cells if bounds.every_place else _covering(table)
    return replace(
        table,
        cells=tuple(
            replace(cell, setting=varied(cell.setting, variation), grid=grids[cell.row, cell.column]) for cell in cells
        ),
        seeds=_least(table.seeds, bounds.seeds) or table.seeds,
        published={
            place: number
            for place, number in table.published.items()
            if bounds.every_place or any(place[:2] == (cell.row, cell.column) for cell in cells)
        },
    )


def check_grid(tables: Sequence[Table], variation: Variation) -> None:
    """Raise ValueError if the variation states values of an option that none of the tables searches."""
    names = sorted({name for table in tables for cell in table.cells for name in cell.grid})
    for name, _ in variation.grid:
        if name not in names:
            there = f"choose from {', '.join(names)}" if names else "nothing is searched there"
            raise ValueError(f"--grid {name}: no grid of {', '.join(table.name for table in tables)} has it; {there}")


def fitted(table: Table, variation: Variation) -> tuple[Table, Variation] | None:
    """A table without the cells that cannot be run as varied, and of the variation's grid what the table has.

    What was stated for one table, or for some rows of it, need not hold for others. None if no cell is left.
    """
    cells = tuple(
        cell
        for cell in table.cells
        if all(value in cell.grid[name] for name, values in variation.grid if name in cell.grid for value in values)
    )
    if not cells:
        return None
    kept = {(cell.row, cell.column) for cell in cells}
    published = {place: number for place, number in table.published.items() if place[:2] in kept}
    grid = tuple(stated for stated in variation.grid if any(stated[0] in cell.grid for cell in cells))
    return replace(table, cells=cells, published=published), replace(variation, grid=grid)


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _grid(cell: Cell, variation: Variation, table: str) -> dict[str, Any]:
    """What is searched of a cell's grid: the values stated, all of them; of other options as many as the scale has."""
    stated = dict(variation.grid)
    grid = dict(cell.grid)
    for name in stated.keys() & grid.keys():
        for value in stated[name]:
            if value not in grid[name]:
                raise ValueError(
                    f"--grid {name}={value:g}: {cell.row}, {cell.column} of {table} does not search that value: "
                    f"choose from {_listed(grid[name])}"
                )
        # The cell's own, in its order: 1 and 1.0 are settings with other names, and of equals the first is chosen.
        grid[name] = tuple(value for value in grid[name] if value in stated[name])
    shortened = _in_time(replace(cell, grid=grid), variation)
    return {
        name: tuple(values) if name in stated else _spread(values, variation.bounds.grid)
        for name, values in shortened.items()
    }


def _spread(values: Sequence[Any], most: int | None) -> tuple[Any, ...]:
    if most is None or len(values) <= most:
        return tuple(values)
    return tuple(values[(2 * number + 1) * len(values) // (2 * most)] for number in range(most))


def _least(value: int | None, bound: int | None) -> int | None:
    return value if bound is None else bound if value is None else min(value, bound)


def _epochs(setting: Setting, variation: Variation) -> int:
    return variation.epochs or _least(setting.training.epochs, variation.bounds.epochs) or setting.training.epochs


def _shortened(setting: Setting, epochs: int) -> dict[str, Any]:
    method = get_method(setting.method)
    options = {**method.options(), **setting.options}
    lengths = {name: options[name] for name in method.in_epochs if options[name]}
    # A network learns labels by heart in so many epochs, however many follow: ramps and warm-ups do not shrink along.
    shorter = {name: min(value, epochs) for name, value in lengths.items()}
    if "rounds" in options:  # each has an epoch at least
        shorter["rounds"] = min(options["rounds"], epochs)
    return {**setting.options, **shorter}


def _in_time(cell: Cell, variation: Variation) -> Mapping[str, Any]:
    """The grid of a cell, whose lengths in epochs are bounded, each tried once."""
    if isinstance(cell.setting, Calculation):
        return cell.grid
    epochs, lengths = _epochs(cell.setting, variation), get_method(cell.setting.method).in_epochs
    return {
        name: tuple(dict.fromkeys(min(value, epochs) for value in values)) if name in lengths else values
        for name, values in cell.grid.items()
    }


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


def _covering(table: Table) -> tuple[Cell, ...]:
    """One cell of every row, each in another column as far as there are, and what it takes for every column.

    Columns that are left stand in the last row that has them, so that rows and columns keep their order.
    """
    kept: dict[Place, Cell] = {}
    for number, row in enumerate(table.rows):
        there = [cell for cell in table.cells if cell.row == row]
        cell = there[number % len(there)]
        kept[cell.row, cell.column] = cell
    for cell in reversed(table.cells):
        if cell.column not in {column for _, column in kept}:
            kept[cell.row, cell.column] = cell
    return tuple(cell for cell in table.cells if (cell.row, cell.column) in kept)
