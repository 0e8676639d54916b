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
from truelabel.experiments.work import Site


class Deadly(Calculation):
    """Ends the process that works on it, as a lack of memory would."""

    def identity(self, seed: int) -> str:
        if multiprocessing.parent_process() is not None:
            os._exit(9)
        return super().identity(seed)


def main() -> None:
    folder, kind = Path(sys.argv[1]), sys.argv[2]
    loss = {"calculation": "attenuated-loss"}
    planned = [
        Planned(Calculation(**loss, options={"scale": 0.5, "residual": float(r)}), 0, f"r = {r}") for r in range(6)
    ]
    if kind == "processes":
        planned.insert(2, Planned(Deadly(**loss, options={"scale": 1.0, "residual": 1.0}), 0, "deadly"))
    planned.insert(4, Planned(Calculation(calculation="no-such"), 0, "wrong"))
    pool = Processes(2) if kind == "processes" else Ray(2)
    site = Site(folder / "r.jsonl", folder / "work", device="cpu")
    ends = {run.label: ended.end for run, ended in pool.run(planned, site, None)}
    lines = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    print(json.dumps({"ends": ends, "records": lines}))


if __name__ == "__main__":
    main()
