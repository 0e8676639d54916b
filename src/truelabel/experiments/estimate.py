"""How long the runs that are left will take."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.plan import Planned, cost_of, kind_of
from truelabel.experiments.reached import Reached
from truelabel.experiments.records import Record
from truelabel.experiments.setting import Setting
from truelabel.experiments.work import Ended


class Estimate:
    """From how long runs of the same data, network and method took, or any trainings where none of them has ended.

    Before any has ended, from the pace of those under way, as if they had but the stage in which they are.

    Args:
        workers: runs at once.
        before: records of earlier calls on such a machine, which count for kinds of which none has ended in this one.
    """

    def __init__(self, workers: int, before: Iterable[Record] = ()) -> None:
        self.workers = workers
        self.seen: dict[tuple[str, ...], tuple[float, float]] = {}
        self.before: dict[tuple[str, ...], tuple[float, float]] = {}
        self.under_way: dict[str, _UnderWay] = {}
        for record in before:
            # Records have an id; what else is in them is up to whoever wrote the file.
            with contextlib.suppress(KeyError, TypeError):
                _add(self.before, kind_of(record["setting"]), record["seconds"], cost_of(record["setting"]))

    def hear(self, run: Planned, reached: Reached) -> None:
        """Where a run is that has begun."""
        known = self.under_way.get(run.id)
        if known is None or known.last.stage != reached.stage:
            since = Reached(reached.stage, 0, reached.epochs, 0.0 if known is None else known.last.seconds)
        else:
            # The first epochs may have had much to prepare.
            since = known.since if known.since.epoch else known.last
        self.under_way[run.id] = _UnderWay(run, since, reached)

    @property
    def heard(self) -> tuple[tuple[Planned, Reached], ...]:
        """Runs under way, and where they are."""
        return tuple((one.run, one.last) for one in self.under_way.values())

    def see(self, run: Planned, ended: Ended) -> None:
        """A run that has ended; what failed or was not ours tells nothing."""
        self.under_way.pop(run.id, None)
        if ended.record is not None and "seconds" in ended.record:
            # How long a calculation takes says nothing of trainings.
            for kind in (run.kind,) if isinstance(run.setting, Calculation) else ((), run.kind):
                _add(self.seen, kind, ended.record["seconds"], run.cost)

    def seconds(self, left: Collection[Planned]) -> float | None:
        """Until all that are left have ended, if that can be said; those not heard of are half done on average."""
        any_training = self.seen.get(()) or self._pace()
        heard, others = list[float](), list[float]()
        for run in left:
            known = self.seen.get(run.kind) or self.before.get(run.kind)
            if run.id in self.under_way:
                still = self.under_way[run.id].left(None if known is None else _of(run, known))
                if still is None:
                    return None
                heard.append(still)
                continue
            # Calculations take no time to speak of.
            known = known or ((0.0, 1.0) if isinstance(run.setting, Calculation) else any_training)
            if known is None:
                return None
            others.append(_of(run, known))
        others.sort()
        at_once = min(self.workers, len(left))
        # The longest are begun first.
        begun = max(0, at_once - len(heard))
        work = sum(heard) + sum(others) - sum(others[len(others) - begun :]) / 2
        return max(work / max(1, at_once), *heard, 0.0)

    def _pace(self) -> tuple[float, float] | None:
        """Seconds and cost of what is under way, as they would be if it went on like that to its last epoch."""
        each = [one for one in self.under_way.values() if not one.may_stop]
        seconds = sum(one.last.seconds + one.epochs_left * one.seconds_an_epoch for one in each)
        return (seconds, sum(one.run.cost for one in each)) if each else None


def _of(run: Planned, known: tuple[float, float]) -> float:
    """Seconds that a run takes, by seconds and cost of others."""
    seconds, cost = known
    return run.cost * seconds / cost


@dataclass(frozen=True)
class _UnderWay:
    """A run, where its stage is, and where it was when its epochs had begun to take as long as they do."""

    run: Planned
    since: Reached
    last: Reached

    @property
    def seconds_an_epoch(self) -> float:
        return (self.last.seconds - self.since.seconds) / (self.last.epoch - self.since.epoch)

    @property
    def epochs_left(self) -> int:
        return self.last.epochs - self.last.epoch

    @property
    def may_stop(self) -> bool:
        """Whether the stage may be over before its last epoch."""
        return isinstance(self.run.setting, Setting) and self.run.setting.training.patience is not None

    def left(self, whole: float | None) -> float | None:
        """Seconds, at least those of the stage; what comes after it is in the whole, if that is known of others."""
        if self.may_stop:
            return None if whole is None else max(self.seconds_an_epoch, whole - self.last.seconds)
        return max(self.epochs_left * self.seconds_an_epoch, (whole or 0.0) - self.last.seconds)


def _add(seen: dict[tuple[str, ...], tuple[float, float]], kind: tuple[str, ...], seconds: float, cost: float) -> None:
    before = seen.get(kind, (0.0, 0.0))
    seen[kind] = before[0] + seconds, before[1] + cost
