from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from truelabel.cli.reproduced import ended, sum_up
from truelabel.experiments import Calculation, Progress, Report
from truelabel.experiments.plan import Planned
from truelabel.experiments.work import Ended

NOTHING: dict[str, Any] = {
    "done": 0,
    "failed": 0,
    "stopped": 0,
    "elsewhere": 0,
    "left": 0,
    "there": 0,
    "undecided": 0,
    "missing": {},
}


@pytest.mark.parametrize(
    ("counts", "told"),
    [
        ({"done": 1}, "1 new record in r.jsonl\n"),
        (
            {"done": 2, "failed": 1, "left": 1},
            "2 new records in r.jsonl; 1 run failed, see there why; what failed is tried again by the same command\n",
        ),
        (
            {"stopped": 2, "left": 3},
            "0 new records in r.jsonl; 2 stopped by the clock; 3 left: run the same command again\n",
        ),
        (
            {"missing": {"svhn": ("svhn is not there", 4)}},
            "0 new records in r.jsonl\n4 runs left for their data: svhn is not there\n",
        ),
    ],
)
def test_a_summary_says_what_to_do(counts: dict[str, Any], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    sum_up(Report(**{**NOTHING, **counts}), Path("r.jsonl"), sharded=False)
    assert capsys.readouterr() == ("", told)


@pytest.mark.parametrize(
    ("record", "told"),
    [
        ({"scores": {"accuracy": 0.91234, "confusion": [1.0], "loss": 0.5}}, "accuracy 0.9123, loss 0.5"),
        ({"error": "ValueError: no such network"}, "ValueError: no such network"),
        (None, "stopped"),
    ],
)
def test_a_run_that_ended_has_a_line(record: dict[str, Any] | None, told: str) -> None:
    run = Planned(Calculation(calculation="attenuated-loss", options={}), 0, "table-1, CE, asym 40, seed 0")
    line = ended(Progress(3, 15, run, Ended("stopped", record), 125.0))
    assert line == f"[3/15] table-1, CE, asym 40, seed 0: {told}; about 2 min left"
