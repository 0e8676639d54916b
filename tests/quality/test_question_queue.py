from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from truelabel.quality import question_queue
from truelabel.quality.expected_information import expected_information
from truelabel.quality.question_queue import QuestionQueue


def queue(n: int = 1, r: int = 3, k: int = 2, skill: float = 0.6, **limits: Any) -> QuestionQueue:
    q = np.full((n, k), 1 / k)
    confusion = np.stack([skill * np.eye(k) + (1 - skill) / k] * r)
    given = {"costs": np.ones(r), "capacity": np.full(r, 99), "per_example": None, "repeat": False, "greedy": True}
    return QuestionQueue(q, confusion, expected_information(q, confusion), **{**given, **limits})


def test_gains_of_equals_fall_with_every_answer() -> None:
    gains = [gain for _, _, gain in queue(r=6).spend(6.0)]
    assert len(gains) == 6
    assert all(np.diff(gains) < 0)
    assert sum(gains) < 1, "there is one bit to be told"


def test_only_what_comes_to_the_front_is_computed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    compute = QuestionQueue._compute_again

    def counted(self: QuestionQueue, n: int, other: float) -> None:
        calls.append(n)
        compute(self, n, other)

    monkeypatch.setattr(QuestionQueue, "_compute_again", counted)
    assert [n for n, _, _ in queue(n=50, r=20).spend(50.0)] == list(range(50))
    assert len(calls) <= 50, "twenty equals are computed at once, when the first of them is in front"
    calls.clear()
    easy = queue(n=50, r=20)
    easy.rates[:, 1:] /= 2  # bounds that stay behind those of other examples
    assert [n for n, _, _ in easy.spend(50.0)] == list(range(50))
    assert calls == []


def test_rare_answers_are_left_out_and_gains_are_too_low_then_never_too_high(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = [gain for _, _, gain in queue(r=5, k=4, skill=0.9).spend(5.0)]
    monkeypatch.setattr(question_queue, "BRANCHES", 100)
    short = [gain for _, _, gain in queue(r=5, k=4, skill=0.9).spend(5.0)]
    assert short[:4] == pytest.approx(exact[:4])  # 4 ** 3 combinations are still kept
    assert 0.5 * exact[4] < short[4] < exact[4]


def test_who_has_no_time_left_is_passed_over() -> None:
    chosen = list(queue(n=4, r=2, capacity=np.array([1, 2])).spend(99.0))
    assert sorted(r for _, r, _ in chosen) == [0, 1, 1]
    assert list(queue(capacity=np.zeros(3, np.int64)).spend(99.0)) == []


def test_cheaper_ones_are_taken_once_the_dear_do_not_fit() -> None:
    confusion = np.stack([np.eye(2), 0.3 * np.eye(2) + 0.35])
    q, costs = np.full((3, 2), 0.5), np.array([5.0, 1.0])
    rates = expected_information(q, confusion) / costs
    chosen = list(QuestionQueue(q, confusion, rates, costs, np.array([9, 9]), None, False, True).spend(12.0))
    assert [r for _, r, _ in chosen] == [0, 0, 1]
    assert sum(costs[r] for _, r, _ in chosen) == 11


def test_rounding_of_prices_does_not_lose_the_last_label() -> None:
    assert len(list(queue(n=3, r=1, costs=np.full(1, 0.1)).spend(0.3))) == 3
