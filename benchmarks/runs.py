"""Many trainings on one GPU: a pool of worker processes, one JSON line a run, nothing repeated."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path
from typing import Any

import torch

Key = dict[str, Any]
"""What a run is: everything that its result depends on."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What every benchmark of many runs can be told."""
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=1, help="processes; best under NVIDIA's MPS daemon")
    parser.add_argument("--minutes", type=float, default=1e9, help="start no run that would probably end later")
    parser.add_argument("--device", default="auto")


def run_all(
    keys: Sequence[Key],
    work: Callable[[Key], Key],
    cost: Callable[[Key], float],
    told: argparse.Namespace,
    show: Callable[[Key], str],
) -> list[Key]:
    """Run every key that is not in the file yet, in this order, and append what ``work`` gives.

    Args:
        keys: what is to be run.
        work: picklable; the record of a run, which includes its key.
        cost: how long a key takes, in any unit.
        told: ``out``, ``workers`` and ``minutes``.
        show: a line for the terminal from a record.

    Returns:
        All records in the file.
    """
    out: Path = told.out
    done = records(out)
    waiting = [key for key in keys if not any(key.items() <= line.items() for line in done)]
    end, speed = time.perf_counter() + 60 * told.minutes, 0.0
    out.parent.mkdir(parents=True, exist_ok=True)
    running: dict[Future[Key], Key] = {}
    with ProcessPoolExecutor(told.workers, multiprocessing.get_context("spawn")) as pool:
        while waiting or running:
            while waiting and len(running) < told.workers:
                key = waiting.pop(0)
                if time.perf_counter() + speed * cost(key) < end:
                    running[pool.submit(work, key)] = key
            for future in wait(running, return_when=FIRST_COMPLETED).done if running else ():
                key, line = running.pop(future), future.result()
                done.append(line)
                speed = max(speed, line["seconds"] / cost(key))
                with out.open("a") as file:
                    file.write(json.dumps(line) + os.linesep)
                print(f"{show(line)}, {line['seconds']} s", flush=True)
    return done


def records(out: Path) -> list[Key]:
    """What a file holds so far."""
    return [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []


def machine() -> Key:
    """Where a run happened, for its record."""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    return {"device": device, "torch": torch.__version__}
