from __future__ import annotations

import importlib.util
import json
import multiprocessing
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from truelabel.experiments import pool
from truelabel.experiments.calculation import Calculation
from truelabel.experiments.plan import Planned
from truelabel.experiments.pool import Here, Processes, Ray
from truelabel.experiments.reached import Reached
from truelabel.experiments.work import Ended, Site

SCRIPT = Path(__file__).parent / "scripts" / "pool.py"
GOOD = {**{f"r = {r}": "done" for r in range(6)}, "training": "done"}


def run_script(folder: Path, kind: str) -> dict[str, Any]:
    done = subprocess.run([sys.executable, SCRIPT, folder, kind], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.mark.long
def test_a_process_that_dies_costs_its_own_run_only(tmp_path: Path) -> None:
    told = run_script(tmp_path, "processes")
    assert told["ends"] == {**GOOD, "deadly": "failed", "wrong": "failed"}
    assert ["training", "epoch 1 of 200"] in told["heard"]
    errors = [record["error"] for record in told["records"] if "error" in record]
    assert sorted(errors)[0].startswith("ValueError: there is no calculation 'no-such'")
    assert sorted(errors)[1].startswith("the process died with exit code 9")
    assert len(told["records"]) == 9


@pytest.mark.long
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs ray")
def test_runs_on_a_cluster_come_back_to_one_file(tmp_path: Path) -> None:
    told = run_script(tmp_path, "ray")
    assert told["ends"] == {**GOOD, "wrong": "failed"}
    assert ["training", "epoch 1 of 200"] in told["heard"]
    assert len(told["records"]) == 8


def test_here_runs_in_order_and_not_beyond_the_end(tmp_path: Path) -> None:
    planned = [
        Planned(Calculation(calculation="attenuated-loss", options={"scale": 1.0, "residual": r}), 0, f"{r}")
        for r in (0.5, 1.0)
    ]
    site = Site(tmp_path / "r.jsonl", tmp_path / "work", device="cpu")
    assert [run.label for run, _ in Here().run(planned, site, None)] == ["0.5", "1.0"]
    assert list(Here().run(planned, site, 0.0)) == []


def test_a_run_does_not_fail_because_nobody_could_be_told_where_it_is(tmp_path: Path, setting: Any) -> None:
    def nobody_reads(run: Planned, reached: Reached) -> None:
        raise BrokenPipeError("nobody reads this")

    site = Site(tmp_path / "r.jsonl", tmp_path / "work", device="cpu")
    runs = Here().run([Planned(setting(), 0, "run")], site, None, nobody_reads)
    assert next(runs)[1].end == "done"
    with pytest.raises(BrokenPipeError, match="nobody reads this"):
        next(runs)


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
    site = Site(tmp_path / "r.jsonl", tmp_path / "work", device="cpu")
    assert [ended.end for _, ended in Processes(2).run([planned_run()], site, None)] == ["done"]
    assert alive == [0]


def planned_run() -> Planned:
    options = {"scale": 1.0, "residual": 0.5}
    return Planned(Calculation(calculation="attenuated-loss", options=options), 0, "run")


@pytest.mark.parametrize("reads", [True, False], ids=["in the middle", "while it starts"])
def test_a_worker_that_is_killed_costs_its_own_run(
    reads: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line whose other end is closed with something unread on it is reset, not ended."""

    class Killed:
        exitcode = -9

        def join(self) -> None: ...

        def terminate(self) -> None: ...

    def start(workers: int) -> tuple[Any, Any]:
        ours, theirs = multiprocessing.Pipe()

        def die() -> None:
            assert theirs.poll(10)
            if reads:
                theirs.recv()
            theirs.close()

        threading.Thread(target=die).start()
        return ours, Killed()

    monkeypatch.setattr(pool, "_start", start)
    site = Site(tmp_path / "r.jsonl", tmp_path / "work", device="cpu")
    ((_, ended),) = Processes(2).run([planned_run()], site, None)
    assert ended.end == "failed"
    assert ended.record is not None
    assert ended.record["error"].startswith("the process died with exit code -9, as it does if memory is short")


class Process:
    """Of a worker that is a thread here."""

    exitcode = 0

    def join(self) -> None: ...

    def terminate(self) -> None: ...


def test_what_a_worker_tells_on_the_way_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(workers: int) -> tuple[Any, Any]:
        ours, theirs = multiprocessing.Pipe()

        def serve() -> None:
            run, _, _ = theirs.recv()
            for epoch in (1, 2):
                pool._send(theirs, Reached("main", epoch, 2, float(epoch)))
            pool._send(theirs, Ended("done", {"id": run.id}))

        threading.Thread(target=serve).start()
        return ours, Process()

    monkeypatch.setattr(pool, "_start", start)
    heard: list[tuple[str, int]] = []
    site = Site(tmp_path / "r.jsonl", tmp_path / "work", device="cpu")
    runs = Processes(2).run([planned_run()], site, None, lambda run, reached: heard.append((run.label, reached.epoch)))
    assert [ended.end for _, ended in runs] == ["done"]
    assert heard == [("run", 1), ("run", 2)]


@pytest.mark.parametrize("asks", [True, False])
def test_a_worker_ends_quietly_when_nobody_is_there_any_more(asks: bool, tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    site = Site(tmp_path / "r.jsonl", tmp_path / "work", device="cpu")
    if asks:
        ours.send((planned_run(), site, None))
    ours.close()
    pool._serve(theirs, 2)
    assert (tmp_path / "r.jsonl").exists() == asks


def test_workers_leave_an_interrupt_to_whoever_asked() -> None:
    before = signal.getsignal(signal.SIGINT)
    with pool._deaf_to_interrupts():
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert signal.getsignal(signal.SIGINT) == before


@pytest.mark.parametrize("gpus", [-1.0, float("nan")])
def test_a_share_of_a_gpu_is_checked(gpus: float) -> None:
    with pytest.raises(ValueError, match="gpus must be a number of at least 0"):
        Ray(2, gpus)
