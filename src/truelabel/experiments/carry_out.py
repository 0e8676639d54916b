"""One run of an experiment, from its setting to its record."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from truelabel import __version__
from truelabel.experiments.calculation import Calculation
from truelabel.experiments.calculations import calculate
from truelabel.experiments.measures import Outcome, measure_all
from truelabel.experiments.reached import Reached, Teller
from truelabel.experiments.records import Record, now
from truelabel.experiments.scene import Scene
from truelabel.experiments.setting import Setting
from truelabel.learners import Learner
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, Logging, Pace
from truelabel.training.files import read_json, write_json


def carry_out(
    setting: Setting | Calculation,
    seed: int,
    *,
    engine: Engine | None = None,
    root: Path | None = None,
    folder: Path | None = None,
    pace: Pace | None = None,
    compiled: bool = False,
    masks: Path | None = None,
    tell: Callable[[Reached], object] | None = None,
) -> Record:
    """Train and measure, or calculate.

    Args:
        setting: what is run.
        seed: of noise, start and order.
        engine: device.
        root: where the data lies; the data root by default.
        folder: for checkpoints, so that a run that was stopped goes on; None keeps nothing.
        pace: when it saves and stops.
        masks: a folder in which masks of simulated readers are kept for other runs.
        compiled: let torch.compile fuse what it can; worth its minute for large networks and long trainings.
        tell: told where the training is, about once a second.

    Returns:
        ``id``, ``setting``, ``seed``; ``scores``; ``curves``, those of the validation part too; ``valid``,
        accuracy and loss on the noisy validation part at the epoch that was kept; where and how long it ran, with
        what it ran up to the checkpoint that it went on from; and a hash of the library's files, its ``source``.
    """
    engine, source = engine or Engine(), _source()
    began = time.perf_counter()
    if isinstance(setting, Calculation):
        found = {"scores": dict(calculate(setting.calculation, seed, **dict(setting.options)))}
    else:
        spent = None if folder is None else folder / "seconds.json"
        before = read_json(spent)["seconds"] if spent is not None and spent.exists() else 0.0
        began -= before
        if spent is not None:
            pace = replace(pace or Pace(), on_save=_Clock(spent, began))
        logging = Logging(tell=None if tell is None else Teller(tell, began))
        found = _trained(setting, seed, engine, root, folder, pace or Pace(), logging, compiled, masks)
    return {
        "id": setting.identity(seed),
        "setting": setting.to_json(),
        "seed": seed,
        **found,
        "seconds": round(time.perf_counter() - began, 2),
        "torch": torch.__version__,
        "truelabel": __version__,
        "source": source,
        "when": now(),
    }


@dataclass(frozen=True)
class _Clock:
    """Writes down for how long a run has been going."""

    path: Path
    began: float

    def __call__(self) -> None:
        write_json(self.path, {"seconds": time.perf_counter() - self.began})


@functools.cache
def _source() -> str:
    library = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(library.rglob("*.py")):
        digest.update(path.relative_to(library).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _trained(
    setting: Setting,
    seed: int,
    engine: Engine,
    root: Path | None,
    folder: Path | None,
    pace: Pace,
    logging: Logging,
    compiled: bool,
    masks: Path | None,
) -> Record:
    device = engine.fabric(setting.training.precision).device
    scene = Scene.of(setting, seed, root, device, masks)
    # What is averaged over the last epochs has to be measured in them.
    watched = (*setting.curves, *(setting.measures if setting.average > 1 else ()))

    def evaluate(learner: Learner) -> Mapping[str, float]:
        return {f"test.{name}": value for name, value in measure_all(watched, Outcome(scene, learner)).items()}

    job = Job(
        scene.train.inputs,
        scene.said,
        setting.network,
        setting.training,
        seed,
        folder,
        evaluate=evaluate if watched else None,
        logging=logging,
        capture=device.type == "cuda",
        compiled=compiled,
        pace=pace,
    )
    method = get_method(setting.method).with_options(**scene.resolved(setting.options))
    learned = learn(method, job, engine)
    rows = learned.history.rows
    tested = [name for name in rows[-1] if name.startswith("test.")]
    curves = {name.removeprefix("test."): _curve(rows, name) for name in tested}
    if setting.average > 1:
        last = {name: values[-setting.average :] for name, values in curves.items()}
        scores: dict[str, Any] = {name: sum(values) / len(values) for name, values in last.items()}
    else:
        scores = measure_all(setting.measures, Outcome(scene, learned.learner, learned))
    kept = rows[_kept_epoch(setting, learned.history.best_epoch)]
    return {
        "scores": scores,
        "curves": {**curves, **{name: _curve(rows, name) for name in rows[-1] if name.startswith("valid_")}},
        "valid": {name.removeprefix("valid_"): kept[name] for name in kept if name.startswith("valid_")},
        "epochs": len(rows),
        "notes": dict(learned.notes),
        "device": machine(device),
    }


def machine(device: torch.device) -> str:
    """What records call a device."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {platform.machine()}, {os.cpu_count()} cores"


def _curve(rows: Sequence[Mapping[str, float]], name: str) -> list[float]:
    return [round(row[name], 6) for row in rows]


def _kept_epoch(setting: Setting, best: int | None) -> int:
    return best if setting.training.keeps_best and best is not None else -1
