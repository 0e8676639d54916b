"""Runs in processes of their own, one of which dies: prints what became of each, as JSON."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from pathlib import Path

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.plan import Planned
from truelabel.experiments.pool import Processes, Ray
from truelabel.experiments.setting import Setting
from truelabel.experiments.work import Site
from truelabel.training import TrainingConfig


class Deadly(Calculation):
    """Ends the process that works on it, as a lack of memory would."""

    def identity(self, seed: int) -> str:
        if multiprocessing.parent_process() is not None:
            os._exit(9)
        return super().identity(seed)


def training() -> Setting:
    """Of half a second and more, so that it is heard of before its end."""
    return Setting(
        data="moons",
        noise="symmetric",
        noise_options={"rate": 0.2},
        method="cross-entropy",
        network="mlp:8",
        training=TrainingConfig(epochs=200, batch_size=16, select="last"),
        train=200,
        test=40,
    )


def main() -> None:
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    loss = {"calculation": "attenuated-loss"}
    planned = [
        Planned(Calculation(**loss, options={"scale": 0.5, "residual": float(r)}), 0, f"r = {r}") for r in range(6)
    ]
    if kind == "processes":
        planned.insert(2, Planned(Deadly(**loss, options={"scale": 1.0, "residual": 1.0}), 0, "deadly"))
    planned.insert(4, Planned(Calculation(calculation="no-such"), 0, "wrong"))
    planned.append(Planned(training(), 0, "training"))
    pool = Processes(2) if kind == "processes" else Ray(2)
    site = Site(folder / "r.jsonl", folder / "work", device="cpu")
    heard: list[tuple[str, str]] = []
    runs = pool.run(planned, site, None, lambda run, reached: heard.append((run.label, str(reached))))
    ends = {run.label: ended.end for run, ended in runs}
    lines = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    print(json.dumps({"ends": ends, "records": lines, "heard": heard}))


if __name__ == "__main__":
    main()
