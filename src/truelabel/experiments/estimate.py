"""How long the runs that are left will take."""

from __future__ import annotations

from collections.abc import Collection

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.plan import Planned
from truelabel.experiments.work import Ended


class Estimate:
    """From how long runs of the same data, network and method took, or of any where none of them has ended.

    Args:
        workers: runs at once.
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self.seen: dict[tuple[str, ...], tuple[float, float]] = {}

    def see(self, run: Planned, ended: Ended) -> None:
        """A run that has ended; what failed or was not ours tells nothing."""
        if ended.record is not None and "seconds" in ended.record:
            for kind in ((), _kind(run)):
                seconds, cost = self.seen.get(kind, (0.0, 0.0))
                self.seen[kind] = seconds + ended.record["seconds"], cost + run.cost

    def seconds(self, left: Collection[Planned]) -> float | None:
        """Until all that are left have ended; those that are under way are half done on average."""
        if not self.seen:
            return None
        each = sorted(self._of(run) for run in left)
        under_way = min(self.workers, len(each))
        # The longest are begun first.
        work = sum(each) - sum(each[len(each) - under_way :]) / 2
        return work / max(1, under_way)

    def _of(self, run: Planned) -> float:
        seconds, cost = self.seen.get(_kind(run), self.seen[()])
        return run.cost * seconds / cost


def _kind(run: Planned) -> tuple[str, ...]:
    setting = run.setting
    if isinstance(setting, Calculation):
        return (setting.calculation,)
    return setting.data, str(setting.network), setting.method
