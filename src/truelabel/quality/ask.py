"""Whom to ask about what, for a budget."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from truelabel.annotations import Annotations
from truelabel.checks import check_flag, check_whole
from truelabel.quality.expected_information import Array, check_beliefs, expected_information
from truelabel.quality.question_queue import QuestionQueue

Batch = Literal["greedy", "single"]


@dataclass(frozen=True, eq=False)
class Questions:
    """Pairs of example and annotator, the one to ask first in front.

    Attributes:
        example: ``(B,)`` positions among the N examples.
        annotator: ``(B,)`` positions among the R annotators.
        gain: ``(B,)``, bits that the label is expected to tell about the true class, given those in front of it.
        cost: ``(B,)``, of each label.

    Example:
        >>> questions = ask([[0.5, 0.5], [0.9, 0.1]], [[[1.0, 0.0], [0.0, 1.0]]], budget=2)
        >>> questions.example.tolist(), questions.cumulative_gain.round(2).tolist()
        ([0, 1], [1.0, 1.47])
    """

    example: NDArray[np.int64]
    annotator: NDArray[np.int64]
    gain: Array
    cost: Array

    @property
    def cumulative_gain(self) -> Array:
        """Bits expected from each question and all in front of it: ``(B,)``."""
        return np.cumsum(self.gain)

    @property
    def cumulative_cost(self) -> Array:
        """What each question and all in front of it cost: ``(B,)``."""
        return np.cumsum(self.cost)

    def __len__(self) -> int:
        return len(self.example)


def ask(
    posterior: ArrayLike,
    confusion: ArrayLike,
    budget: float,
    *,
    annotations: Annotations | None = None,
    costs: ArrayLike | None = None,
    capacity: ArrayLike | None = None,
    per_example: int | None = None,
    repeat: bool = False,
    batch: Batch = "greedy",
) -> Questions:
    r"""Choose whom to ask about what, so that the labels tell most about the true classes for what they cost.

    .. math:: \max_A \sum_n I(y_n; \tilde y_{A_n}) \quad \text{with} \quad \sum_{(n, r) \in A} c_r \le \text{budget}

    :math:`A_n` are the annotators asked about example n. The pair with the most expected information for its cost comes
    first, see :func:`~truelabel.quality.expected_information.expected_information`. What others would add on the same
    example is then computed anew, in expectation over the answers that the first may give, so that several people are
    asked about one example only where that pays.

    Labels are independent given the class, so this sum is submodular: gains on an example never rise, old ones are
    upper bounds, and only the pair in front of the queue needs to be computed anew (Krause and Guestrin 2005; the lazy
    queue is Minoux's, 1978). With equal costs and no limits greedy choice is within 1 - 1/e of the best set. A pair
    that no longer fits the budget is passed over for cheaper ones.

    Memory: N R numbers if there are limits of capacity or unequal costs, otherwise ``budget`` times R.

    Args:
        posterior: ``(N, K)``, what is known of each class from inputs and labels given so far.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``.
        budget: what all labels together may cost; their number, if no costs are given.
        annotations: labels given so far, by the same R annotators to the same N examples; nobody is asked again for a
            label that they gave.
        costs: ``(R,)``, of a label by each annotator; 1 by default.
        capacity: labels that each annotator can give: one number for all, or ``(R,)``; without limit by default.
        per_example: new labels of one example at most; without limit by default.
        repeat: whether somebody may be asked again about the same example, as if the answers were independent.
        batch: "greedy", or "single" for the order of pairs as if each were the only one.

    Returns:
        The questions; fewer than the budget allows if no other label would tell anything.

    Example:
        >>> skilled, careless = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.6, 0.4], [0.4, 0.6]])
        >>> questions = ask([[0.5, 0.5], [0.6, 0.4], [0.999, 0.001]], [skilled, careless], budget=3)
        >>> questions.example, questions.annotator, questions.gain.round(2)
        (array([0, 1, 0]), array([0, 0, 1]), array([0.53, 0.51, 0.01]))
    """
    q, matrices = check_beliefs(posterior, confusion)
    n, r = len(q), len(matrices)
    prices, most = _prices(costs, r), _capacity(capacity, r)
    _check_budget(budget)
    if per_example is not None:
        check_whole("per_example", per_example)
    check_flag("repeat", repeat)
    if batch not in get_args(Batch):
        raise ValueError(f"batch must be one of {', '.join(get_args(Batch))}, got {batch!r}")
    if annotations is not None:
        _check_same(annotations, n, r, q.shape[1])
    given = None if repeat or annotations is None else annotations

    rows = np.arange(n)
    if capacity is None and (prices == prices[0]).all():
        # One untouched example is always left among the best B, so nobody ever needs another.
        best = _best_gains(q, matrices, given)
        enough = min(n, int(budget / prices[0] * (1 + 1e-9)))
        rows = np.sort(np.argsort(-best, kind="stable")[:enough])
    rates = expected_information(q[rows], matrices)
    if given is not None:
        _close_given(rates, given, rows)
    rates /= prices
    queue = QuestionQueue(q[rows], matrices, rates, prices, most, per_example, repeat, greedy=batch == "greedy")
    chosen = list(queue.spend(float(budget)))
    example, annotator = (np.array([pair[i] for pair in chosen], np.int64) for i in (0, 1))
    return Questions(rows[example], annotator, np.array([pair[2] for pair in chosen], np.float64), prices[annotator])


def _check_budget(budget: object) -> None:
    if isinstance(budget, bool) or not isinstance(budget, Real) or not 0 < float(budget) < np.inf:
        raise ValueError(f"budget must be a number above 0, got {budget!r}")


def _best_gains(posterior: Array, confusion: Array, given: Annotations | None) -> Array:
    """The most that anybody new would tell about each example: ``(N,)``, in pieces that are small beside the result."""
    best = np.empty(len(posterior))
    step = max(1, 2**20 // len(confusion))
    for start in range(0, len(posterior), step):
        rows = np.arange(start, min(start + step, len(posterior)))
        gains = expected_information(posterior[rows], confusion)
        if given is not None:
            _close_given(gains, given, rows)
        best[rows] = gains.max(-1)
    return best


def _close_given(gains: Array, given: Annotations, rows: NDArray[np.int64]) -> None:
    """Nobody is asked again: minus infinity where a label was given, for sorted ``rows`` of the examples."""
    place = np.searchsorted(rows, given.example)
    there = place < len(rows)
    there[there] = rows[place[there]] == given.example[there]
    gains[place[there], given.annotator[there]] = -np.inf


def _prices(costs: ArrayLike | None, annotators: int) -> Array:
    prices = np.ones(annotators) if costs is None else np.asarray(costs, np.float64)
    if prices.shape != (annotators,):
        raise ValueError(f"costs must be ({annotators},), one an annotator, got shape {prices.shape}")
    if not ((prices > 0) & np.isfinite(prices)).all():
        wrong = int((~((prices > 0) & np.isfinite(prices))).argmax())
        raise ValueError(f"costs must be above 0, got {prices[wrong]} for annotator {wrong}")
    return prices


def _capacity(capacity: ArrayLike | None, annotators: int) -> NDArray[np.int64]:
    if capacity is None:
        return np.full(annotators, np.iinfo(np.int64).max)
    most = np.asarray(capacity)
    if most.dtype.kind not in "iu" or (most < 0).any():
        raise ValueError(f"capacity must be whole numbers of at least 0, got {capacity!r}")
    if most.shape not in ((), (annotators,)):
        raise ValueError(f"capacity must be one number or ({annotators},), one an annotator, got shape {most.shape}")
    return np.broadcast_to(most, (annotators,)).astype(np.int64)


def _check_same(annotations: Annotations, examples: int, annotators: int, classes: int) -> None:
    theirs = (len(annotations.examples), len(annotations.annotators), len(annotations.classes))
    if theirs != (examples, annotators, classes):
        raise ValueError(
            f"annotations are of {theirs[0]} examples, {theirs[1]} annotators and {theirs[2]} classes, but posterior "
            f"and confusion of {examples}, {annotators} and {classes}: pass those of the same labels"
        )
