from __future__ import annotations

import importlib.util
import json
import multiprocessing
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from truelabel.experiments import pool
from truelabel.experiments.calculation import Calculation
from truelabel.experiments.plan import Planned
from truelabel.experiments.pool import Here, Processes, Ray
from truelabel.experiments.work import Site

SCRIPT = Path(__file__).parent / "scripts" / "pool.py"


def run_script(folder: Path, kind: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, SCRIPT, folder, kind], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.long
def test_a_process_that_dies_costs_its_own_run_only(tmp_path: Path) -> None:
    told = run_script(tmp_path, "processes")
    good = {f"r = {r}": "done" for r in range(6)}
    assert told["ends"] == {**good, "deadly": "failed", "wrong": "failed"}
    errors = [record["error"] for record in told["records"] if "error" in record]
    assert sorted(errors)[0].startswith("ValueError: there is no calculation 'no-such'")
    assert sorted(errors)[1].startswith("the process died with exit code 9")
    assert len(told["records"]) == 8


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray")
def test_runs_on_a_cluster_come_back_to_one_file(tmp_path: Path) -> None:
    told = run_script(tmp_path, "ray")
    assert told["ends"] == {**{f"r = {r}": "done" for r in range(6)}, "wrong": "failed"}
    assert len(told["records"]) == 7


def test_here_runs_in_order_and_not_beyond_the_end(tmp_path: Path) -> None:
    planned = [
        Planned(Calculation(calculation="attenuated-loss", options={"scale": 1.0, "residual": r}), 0, f"{r}")
        for r in (0.5, 1.0)
    ]
    site = Site(tmp_path / "r.jsonl", tmp_path / "work", device="cpu")
    assert [run.label for run, _ in Here().run(planned, site, None)] == ["0.5", "1.0"]
    assert list(Here().run(planned, site, 0.0)) == []


def test_ray_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ImportError, match=r"pip install 'truelabel\[ray\]'"):
        list(Ray(2).run([], Site(None, tmp_path), None))


def test_workers_are_counted() -> None:
    with pytest.raises(ValueError, match="workers must be a whole number of at least 1, got 0"):
        Processes(0)


@pytest.mark.long
def test_workers_end_before_the_daemon_that_shares_the_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive: list[int] = []

    @contextmanager
    def shared(site: Site) -> Iterator[None]:
        yield
        alive.append(len(multiprocessing.active_children()))

    monkeypatch.setattr(pool, "_shared_gpu", shared)
    options = {"scale": 1.0, "residual": 0.5}
    planned = [Planned(Calculation(calculation="attenuated-loss", options=options), 0, "run")]
    site = Site(tmp_path / "r.jsonl", tmp_path / "work", device="cpu")
    assert [ended.end for _, ended in Processes(2).run(planned, site, None)] == ["done"]
    assert alive == [0]
