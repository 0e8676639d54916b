"""Tables, run: what is missing is done, what is done is kept, and the clock is obeyed."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from truelabel.data import MissingDataError
from truelabel.experiments.calculation import Calculation
from truelabel.experiments.carry_out import machine
from truelabel.experiments.estimate import Estimate
from truelabel.experiments.material import load_material
from truelabel.experiments.plan import Planned, Shard, due, undecided
from truelabel.experiments.pool import Here, Pool
from truelabel.experiments.reached import Reached, Seldom
from truelabel.experiments.records import Record, Records, check_claims
from truelabel.experiments.scale import Variation
from truelabel.experiments.setting import Setting
from truelabel.experiments.stand_ins import STAND_INS, write_stand_in
from truelabel.experiments.table import Table
from truelabel.experiments.work import End, Ended, Site

LOOK = 16
"""Examples that are read to see whether the data is there: one of every class at least where these are balanced."""


@dataclass(frozen=True)
class Progress:
    """Where a reproduction stands, after a run has ended.

    Attributes:
        done: runs that ended in this call.
        total: runs of this call, as far as is known; a search adds some when it is over.
        planned: the run that ended.
        ended: how.
        seconds_left: an estimate; None while nothing has been timed, and where the clock stopped the run.
    """

    done: int
    total: int
    planned: Planned
    ended: Ended
    seconds_left: float | None


@dataclass(frozen=True)
class UnderWay:
    """What is going on, told after epochs of trainings, once a second at most.

    Attributes:
        done: see :class:`Progress`.
        total: likewise.
        reached: where the runs are that have begun and not ended, in the order in which they were first heard of.
        seconds_left: an estimate; None if nothing is known of some of what is left, such as when a training stops that
            may stop early.
    """

    done: int
    total: int
    reached: tuple[tuple[Planned, Reached], ...]
    seconds_left: float | None


@dataclass(frozen=True)
class Report:
    """What a call of :func:`reproduce` did.

    Attributes:
        done: runs with a new record.
        failed: runs with an error.
        stopped: runs that the clock stopped; their checkpoints are kept.
        elsewhere: runs that another call is doing.
        left: runs that nobody is doing, of this shard, and whose data is there.
        there: runs that the tables want and that have a record now, whoever did them.
        undecided: places whose search is not over; with shards, other machines may have to do their part of it first.
        missing: what is not on this machine, by name of the data, and how many runs wait for it.
    """

    done: int
    failed: int
    stopped: int
    elsewhere: int
    left: int
    there: int
    undecided: int
    missing: dict[str, tuple[str, int]]


def reproduce(
    tables: Sequence[Table],
    records: Records,
    site: Site,
    *,
    variation: Variation | None = None,
    seeds: int | None = None,
    shard: Shard | None = None,
    minutes: float | None = None,
    pool: Pool | None = None,
    listen: Callable[[Progress], None] = lambda progress: None,
    begin: Callable[[int, float | None], None] = lambda runs, seconds: None,
    watch: Callable[[UnderWay], None] = lambda under_way: None,
) -> Report:
    """Do what is missing of tables.

    A run that has a record is never repeated, whichever table asked for it; one that failed is tried again in the next
    call, not in this one. A run that the clock stopped goes on from its last checkpoint in the next call.

    Args:
        tables: at their scale, see :func:`~truelabel.experiments.scale.varied_table`.
        records: what has been done, and where it is added.
        site: data, device, folder of checkpoints.
        variation: what the tables were scaled to.
        seeds: instead of the tables' own number.
        shard: the part that is this machine's.
        minutes: after which nothing is begun, and what is running stops at the end of an epoch.
        pool: who does the runs; this process by default.
        listen: told of every run that ended.
        begin: told, before the first, how many runs there are and an estimate of seconds, if earlier records allow one.
        watch: told of runs under way.
    """
    shard, variation = shard or Shard(), variation or Variation()
    does: Pool = pool or Here()
    end = None if minutes is None else time.monotonic() + 60 * minutes
    site = replace(site, results=records.path, variation=tuple(variation.to_json().items()))
    wanted = [(table, seeds or table.seeds) for table in tables]
    ends: dict[str, End] = {}
    missing: dict[str, tuple[str, int]] = {}
    looked: dict[str, str | None] = {}
    seldom = Seldom()
    estimate = Estimate(does.workers, _run_here(records, site) if does.on_this_machine else ())
    while True:
        waiting = [run for run in due(wanted, records.finished()) if shard.has(run.id) and run.id not in ends]
        waiting = _readable(waiting, site, variation, looked, missing)
        if not waiting or (end is not None and time.monotonic() >= end):
            break
        records.check_writable()
        check_claims(site.work / "claims")
        left = {run.id: run for run in waiting}
        total = len(ends | left)
        if not ends:
            begin(total, estimate.seconds(left.values()))

        def tell(run: Planned, reached: Reached, left: dict[str, Planned] = left, total: int = total) -> None:
            estimate.hear(run, reached)
            if seldom():
                watch(UnderWay(len(ends), total, estimate.heard, estimate.seconds(left.values())))

        for run, ended in does.run(waiting, site, end, tell):
            ends[run.id] = ended.end
            del left[run.id]
            estimate.see(run, ended)
            seconds = None if ended.end == "stopped" else estimate.seconds(left.values())
            listen(Progress(len(ends), total, run, ended, seconds))
        if all(run.id in ends for run in waiting):
            continue
        break
    finished = records.finished()
    still = [run for run in due(wanted, finished) if shard.has(run.id)]
    still = _readable(still, site, variation, looked, missing)
    elsewhere = sum(ends.get(run.id) == "elsewhere" for run in still)
    counts = Counter(ends.values())
    return Report(
        counts["done"],
        counts["failed"],
        counts["stopped"],
        elsewhere,
        len(still) - elsewhere,
        sum(run.id in finished for run in due(wanted, {})),
        undecided(wanted, finished),
        missing,
    )


def _run_here(records: Records, site: Site) -> list[Record]:
    """What has been run on such a device, or on any of NVIDIA's GPUs where there is one.

    This process must not ask a GPU for its name: whoever does so holds it, and those who are to share it would wait.
    """
    import torch

    auto, no_gpu = site.device == "auto", ("cpu, ", "mps, ")
    on_gpu = site.device == "cuda" or (auto and torch.cuda.device_count() > 0)
    on_mps = site.device == "mps" or (auto and torch.backends.mps.is_available())
    here = machine(torch.device("mps" if on_mps else "cpu"))
    timed = [record for record in records.finished().values() if "device" in record and "seconds" in record]
    return [r for r in timed if (not r["device"].startswith(no_gpu) if on_gpu else r["device"] == here)]


def _readable(
    runs: Sequence[Planned],
    site: Site,
    variation: Variation,
    looked: dict[str, str | None],
    missing: dict[str, tuple[str, int]],
) -> list[Planned]:
    """Runs whose data is on this machine; the others are counted in ``missing``, with what is not there.

    ``looked`` remembers for every data set what is missing of it, so that it is looked for once.
    """
    kept = []
    missing.clear()
    for run in runs:
        if isinstance(run.setting, Calculation):
            kept.append(run)
            continue
        name = run.setting.data
        if name not in looked:
            looked[name] = _not_there(run.setting, site, variation.bounds.stand_in)
        why = looked[name]
        if why is None:
            kept.append(run)
        else:
            missing[name] = why, missing.get(name, ("", 0))[1] + 1
    return kept


def _not_there(setting: Setting, site: Site, stand_in: bool) -> str | None:
    if stand_in:
        assert site.root is not None
        if setting.data in STAND_INS and not (site.root / f".{setting.data}").exists():
            write_stand_in(setting.data, site.root)
            (site.root / f".{setting.data}").touch()
        return None
    try:
        load_material(setting.data, root=site.root, train=LOOK, test=LOOK, **dict(setting.data_options))
    except MissingDataError as error:
        return str(error)
    except (ValueError, OSError, EOFError) as error:
        return f"{setting.data} cannot be read: {' '.join(str(error).split())}"
    return None


def site_for(variation: Variation, work: Path, device: str = "auto", **more: Any) -> Site:
    """Where runs of a scale happen: a smoke test has its stand-ins in the folder of checkpoints."""
    root = work / "stand-ins" if variation.bounds.stand_in else None
    return Site(None, work, root, device, **more)  # type: ignore[arg-type]  # it checks itself
