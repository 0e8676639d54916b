"""A lazy queue of questions: examples in order of the most that somebody could still tell about each."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from truelabel.quality.expected_information import CHUNK, Array, conditional_information

BRANCHES = 4096
"""Combinations of answers that are kept for an example. Beyond, the least probable are left out, as if a further label
told nothing after them: gains are then a little too low, never too high."""

WORTHLESS = 1e-9
"""Bits below which a label is not asked for: rounding, not information."""

_SLACK = 1e-9
"""Share of the budget that rounding of sums may take."""


class QuestionQueue:
    """Greedy choice of pairs of example and annotator under a budget.

    Every example stands in the queue once, with an upper bound of its best rate, gain for cost. Rates only ever fall:
    by a choice on the same example, or because an annotator has no time left or costs too much. So an example is
    looked at again when it comes to the front, and chosen if it stays there.

    Args:
        posterior: ``(N, K)``.
        confusion: ``(R, K, K)``.
        rates: ``(N, R)``, bits for cost; minus infinity where nobody may be asked. It is used up.
        costs: ``(R,)``.
        capacity: ``(R,)``, labels that each annotator can give.
        per_example: new labels of an example at most.
        repeat: whether the same pair may be chosen again.
        greedy: whether a choice changes the gains of others on the same example.

    Example:
        >>> limits = {"costs": np.ones(1), "capacity": np.ones(1, np.int64), "per_example": None, "repeat": False}
        >>> queue = QuestionQueue(np.array([[0.5, 0.5]]), np.eye(2)[None], np.ones((1, 1)), **limits, greedy=True)
        >>> list(queue.spend(5.0))
        [(0, 0, 1.0)]
    """

    def __init__(
        self,
        posterior: Array,
        confusion: Array,
        rates: Array,
        costs: Array,
        capacity: NDArray[np.int64],
        per_example: int | None,
        repeat: bool,
        greedy: bool,
    ) -> None:
        self.posterior, self.confusion, self.rates, self.costs = posterior, confusion, rates, costs
        rates[rates * costs <= WORTHLESS] = -np.inf
        self.left, self.repeat, self.greedy = capacity.copy(), repeat, greedy
        self.per_example = np.inf if per_example is None else per_example
        self.asked: dict[int, list[int]] = {}
        self.fresh: dict[int, NDArray[np.bool_]] = {}
        self.open = np.ones(len(costs), bool)
        self.who = rates.argmax(-1)
        self.best = rates[np.arange(len(rates)), self.who]

    def spend(self, budget: float) -> Iterator[tuple[int, int, float]]:
        """Pairs in the order of choice, with their gain in bits, until the budget is spent or nothing is worth it."""
        rest, slack = budget, _SLACK * budget
        self._close((self.left <= 0) | (self.costs > rest + slack))
        heap = [(-rate, n) for n, rate in enumerate(self.best.tolist()) if rate > -np.inf]
        heapq.heapify(heap)
        while heap and self.open.any():
            bound, n = heapq.heappop(heap)
            rate, r = self.best[n], int(self.who[n])
            if rate == -np.inf:
                continue
            if -bound == rate and self._is_fresh(n, r):
                yield n, r, float(rate * self.costs[r])
                rest -= self.costs[r]
                self.left[r] -= 1
                self._choose(n, r)
                self._close(self.open & ((self.left <= 0) | (self.costs > rest + slack)))
            elif -bound == rate:
                self._compute_again(n, -heap[0][0] if heap else -np.inf)
            heapq.heappush(heap, (-float(self.best[n]), n))

    def _is_fresh(self, n: int, r: int) -> bool:
        return n not in self.fresh or bool(self.fresh[n][r])

    def _choose(self, n: int, r: int) -> None:
        self.asked.setdefault(n, []).append(r)
        if not (self.repeat and self.greedy):  # as if each were the only one, no pair comes twice
            self.rates[n, r] = -np.inf
        if len(self.asked[n]) >= self.per_example:
            self.rates[n] = -np.inf
        if self.greedy:
            self.fresh[n] = np.zeros(len(self.costs), bool)
        self._look_up(n)

    def _compute_again(self, n: int, other: float) -> None:
        """New gains of all whose old ones would come before ``other``, the best rate of another example."""
        joint, rates = self._joint(n), self.rates[n]
        stale = np.flatnonzero((rates >= other) & (rates > -np.inf) & ~self.fresh[n])
        at_once = max(1, CHUNK // joint.size)
        stale = stale[np.argsort(-rates[stale], kind="stable")][:at_once]
        gains = conditional_information(joint, self.confusion[stale]).sum(0)
        fallen = np.minimum(gains / self.costs[stale], rates[stale])  # they never rise, but for rounding
        rates[stale] = np.where(gains > WORTHLESS, fallen, -np.inf)
        self.fresh[n][stale] = True
        self._look_up(n)

    def _joint(self, n: int) -> Array:
        """Probability of the class together with every combination of answers by those asked: ``(B, K)``."""
        joint = self.posterior[n : n + 1]
        for r in self.asked[n]:
            joint = (joint[:, None, :] * self.confusion[r].T).reshape(-1, joint.shape[1])
            if len(joint) > BRANCHES:
                joint = joint[np.argpartition(-joint.sum(-1), BRANCHES)[:BRANCHES]]
        return joint

    def _look_up(self, n: int) -> None:
        self.who[n] = self.rates[n].argmax()
        self.best[n] = self.rates[n, self.who[n]]

    def _close(self, closing: NDArray[np.bool_]) -> None:
        """Ask these annotators nothing more."""
        if not closing.any():
            return
        self.open &= ~closing
        self.rates[:, closing] = -np.inf
        rows = np.flatnonzero(closing[self.who])
        self.who[rows] = self.rates[rows].argmax(-1)
        self.best[rows] = self.rates[rows, self.who[rows]]
