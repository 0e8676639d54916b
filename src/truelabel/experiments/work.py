"""One run, wherever it happens: claimed, carried out, written down, whatever becomes of it."""

from __future__ import annotations

import shutil
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from truelabel.experiments.carry_out import carry_out
from truelabel.experiments.plan import Planned
from truelabel.experiments.reached import Reached
from truelabel.experiments.records import Record, Records, claimed, now
from truelabel.training import Engine, Pace, Stopped
from truelabel.training.engine import Device

End = Literal["done", "failed", "stopped", "elsewhere"]
"""How a run ended: with a record, with an error, by the clock, or because another process has it."""


@dataclass(frozen=True)
class Site:
    """Where runs happen.

    Attributes:
        results: the file that records are appended to; None if whoever asked does that.
        work: a folder for checkpoints and claims.
        root: where the data lies; the data root if None.
        device: "auto", "cpu", "cuda" or "mps".
        variation: what it is instead of the paper's protocol, for the record.
        save_every: seconds between checkpoints at least.
        threads: of the CPU, for each run; torch's default if None.
        compiled: fuse what torch.compile can.
        command: what was typed, for the record.
    """

    results: Path | None
    work: Path
    root: Path | None = None
    device: Device = "auto"
    variation: tuple[tuple[str, object], ...] = ()
    save_every: float = 20.0
    threads: int | None = None
    compiled: bool = False
    command: str = ""

    def __post_init__(self) -> None:
        Engine(device=self.device)  # which knows the names


@dataclass(frozen=True)
class Ended:
    """What became of a run."""

    end: End
    record: Record | None = None


def work(
    planned: Planned, site: Site, seconds: float | None = None, tell: Callable[[Reached], object] | None = None
) -> Ended:
    """Do one run.

    Args:
        planned: what.
        site: where.
        seconds: from now, after which it saves itself and stops at the end of an epoch.
        tell: told where it is, about once a second.
    """
    end = None if seconds is None else time.monotonic() + seconds
    if site.threads is not None:
        import torch

        torch.set_num_threads(site.threads)
    folder = site.work / planned.id
    with claimed(site.work / "claims" / planned.id) as ours:
        if not ours:
            return Ended("elsewhere")
        records = None if site.results is None else Records(site.results)
        if records is not None and planned.id in records.finished():
            return Ended("elsewhere")
        try:
            record = carry_out(
                planned.setting,
                planned.seed,
                engine=Engine(device=site.device),
                root=site.root,
                folder=folder,
                pace=Pace(save_every=site.save_every, end=end),
                compiled=site.compiled,
                masks=site.work / "masks",
                tell=tell,
            ) | {"variation": dict(site.variation), "command": site.command}
        except Stopped:
            return Ended("stopped")
        except Exception as error:
            record = failure(planned, site, error)
        new = records is None or records.append_new(record)
        # What went wrong may have been in the folder: a run that failed starts anew.
        shutil.rmtree(folder, ignore_errors=True)
    if not new:
        return Ended("elsewhere")
    return Ended("failed" if "error" in record else "done", record)


def failure(planned: Planned, site: Site, error: BaseException | str) -> Record:
    """The record of a run that failed."""
    told = error if isinstance(error, str) else f"{type(error).__name__}: {' '.join(str(error).split())}"
    where = "" if isinstance(error, str) else "".join(traceback.format_exception(error))[-2000:]
    return {
        "id": planned.id,
        "setting": planned.setting.to_json(),
        "seed": planned.seed,
        "error": told,
        "traceback": where,
        "when": now(),
        "variation": dict(site.variation),
        "command": site.command,
    }
