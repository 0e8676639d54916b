"""How long the runs that are left will take."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.plan import Planned, cost_of, kind_of
from truelabel.experiments.records import Record
from truelabel.experiments.work import Ended


class Estimate:
    """From how long runs of the same data, network and method took, or any trainings where none of them has ended.

    Args:
        workers: runs at once.
        before: records of earlier calls on such a machine, which count for kinds of which none has ended in this one.
    """

    def __init__(self, workers: int, before: Iterable[Record] = ()) -> None:
        self.workers = workers
        self.seen: dict[tuple[str, ...], tuple[float, float]] = {}
        self.before: dict[tuple[str, ...], tuple[float, float]] = {}
        for record in before:
            # Records have an id; what else is in them is up to whoever wrote the file.
            with contextlib.suppress(KeyError, TypeError):
                _add(self.before, kind_of(record["setting"]), record["seconds"], cost_of(record["setting"]))

    def see(self, run: Planned, ended: Ended) -> None:
        """A run that has ended; what failed or was not ours tells nothing."""
        if ended.record is not None and "seconds" in ended.record:
            # How long a calculation takes says nothing of trainings.
            for kind in (run.kind,) if isinstance(run.setting, Calculation) else ((), run.kind):
                _add(self.seen, kind, ended.record["seconds"], run.cost)

    def seconds(self, left: Collection[Planned]) -> float | None:
        """Until all that are left have ended, if that can be said; those under way are half done on average."""
        if () not in self.seen and any(self._known(run) is None for run in left):
            return None
        each = sorted(self._of(run) for run in left)
        under_way = min(self.workers, len(each))
        # The longest are begun first.
        work = sum(each) - sum(each[len(each) - under_way :]) / 2
        return work / max(1, under_way)

    def _of(self, run: Planned) -> float:
        seconds, cost = self._known(run) or self.seen[()]
        return run.cost * seconds / cost

    def _known(self, run: Planned) -> tuple[float, float] | None:
        """Seconds and cost of runs of that kind; calculations take no time to speak of."""
        moment = (0.0, 1.0) if isinstance(run.setting, Calculation) else None
        return self.seen.get(run.kind) or self.before.get(run.kind) or moment


def _add(seen: dict[tuple[str, ...], tuple[float, float]], kind: tuple[str, ...], seconds: float, cost: float) -> None:
    before = seen.get(kind, (0.0, 0.0))
    seen[kind] = before[0] + seconds, before[1] + cost
