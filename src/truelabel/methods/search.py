"""Choosing a method's options on noisy validation labels, the papers' way; the truth is never asked."""

from __future__ import annotations

import hashlib
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from truelabel.methods.method import Learned, Method, claim, learn
from truelabel.training import Engine, History, Job, TrainingConfig
from truelabel.training.files import write_json

Grid = Mapping[str, Sequence[Any]]
Score = Literal["accuracy", "likelihood"]


@dataclass(frozen=True)
class Trial:
    """One combination of options and how it did.

    Attributes:
        options: those that were varied.
        score: on the noisy validation part; higher is better.
    """

    options: dict[str, Any]
    score: float


@dataclass(frozen=True)
class Searched:
    """The best of several trainings.

    Attributes:
        learned: what it learned.
        method: with the options chosen.
        trials: all of them, in the order in which they ran.
    """

    learned: Learned
    method: Method
    trials: tuple[Trial, ...]


def search(
    method: Method,
    job: Job,
    engine: Engine | None = None,
    *,
    grid: Grid | None = None,
    trials: int | None = None,
    score: Score | None = None,
) -> Searched:
    """Train with every combination of options and keep the one that predicts held-out noisy labels best.

    All trainings share seed, split and data. With ``trials`` Optuna proposes that many combinations instead, between
    the smallest and the largest number of each option, or among its values if they are not numbers.

    Args:
        method: whose options are searched.
        job: what is to be learned; it must hold out a validation part.
        engine: devices and processes.
        grid: values by option; the paper's grid of the method by default.
        trials: how many combinations Optuna tries; the whole grid if None.
        score: "accuracy" on noisy validation labels, or their "likelihood" (minus the loss); as the paper of the method
            does by default. A density must not be compared across options: use accuracy there.
    """
    grid = dict(method.grid if grid is None else grid)
    if not grid:
        raise ValueError(f"{method.name} has no grid of its own: name the options and values to search")
    if not int(job.config.validation * len(job.inputs)):
        raise ValueError("a search needs a validation part to choose by: set validation above 0")
    for name, values in grid.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise ValueError(f"{name} must have a list of values to search, got {values!r}")
        for value in values:
            method.with_options(**{name: value})
    if trials is not None and trials < 1:
        raise ValueError(f"trials must be at least 1, got {trials!r}")
    by = score or method.search_score
    if by not in get_args(Score):
        raise ValueError(f"score must be one of {', '.join(get_args(Score))}, got {by!r}")
    if job.folder is not None:
        claim(job.folder, method, job)
    done: list[tuple[Trial, Learned, Method]] = []

    def run(options: dict[str, Any]) -> float:
        candidate = method.with_options(**options)
        folder = None if job.folder is None else job.folder / "search" / _label(options)
        learned = learn(candidate, replace(job, folder=folder), engine)
        trial = Trial(options, validation_score(learned.history, by, job.config))
        done.append((trial, learned, candidate))
        return trial.score

    if trials is None:
        for options in combinations(grid):
            run(options)
    else:
        _optuna(grid, trials, job.seed, run)
    _, learned, chosen = max(done, key=lambda entry: entry[0].score)
    tried = tuple(trial for trial, _, _ in done)
    if job.folder is not None:
        note = {"score": by, "chosen": chosen.options(), "trials": [vars(trial) for trial in tried]}
        write_json(job.folder / "search.json", note)
    return Searched(learned, chosen, tried)


def combinations(grid: Grid) -> Iterator[dict[str, Any]]:
    """Every combination of a grid's values.

    Example:
        >>> list(combinations({"t1": (0.5, 0.7), "t2": (2.0,)}))
        [{'t1': 0.5, 't2': 2.0}, {'t1': 0.7, 't2': 2.0}]
    """
    for values in itertools.product(*grid.values()):
        yield dict(zip(grid, values, strict=True))


def validation_score(history: History, by: Score, config: TrainingConfig) -> float:
    """How well held-out noisy labels were predicted by the weights that are kept; higher is better."""
    epoch = history.best_epoch if config.keeps_best and history.best_epoch is not None else -1
    row = history.rows[epoch]
    return row["valid_accuracy"] if by == "accuracy" else -row["valid_loss"]


def _optuna(grid: Grid, trials: int, seed: int, run: Any) -> None:
    try:
        import optuna
    except ImportError as error:
        raise ImportError("a search beyond grids needs the extra: pip install 'truelabel[tune]'") from error
    optuna.logging.set_verbosity(optuna.logging.WARNING)

    def objective(trial: Any) -> float:
        score: float = run({name: _suggest(trial, name, values) for name, values in grid.items()})
        return score

    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=trials)


def _suggest(trial: Any, name: str, values: Sequence[Any]) -> Any:
    numbers = [v for v in values if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) < len(values) or len(set(numbers)) < 2:
        return trial.suggest_categorical(name, list(values))
    low, high = min(numbers), max(numbers)
    if all(isinstance(v, int) for v in numbers):
        return trial.suggest_int(name, low, high)
    # Over more than a factor of ten, as temperatures are, what matters is the order of magnitude.
    return trial.suggest_float(name, low, high, log=low > 0 and math.log10(high / low) > 1)


def _label(options: Mapping[str, Any]) -> str:
    text = "-".join(f"{name}={value}" for name, value in options.items())
    plain = "".join(c if c.isalnum() or c in "=.-_" else "_" for c in text)
    return plain if plain == text and len(text) < 100 else hashlib.sha256(text.encode()).hexdigest()[:16]
