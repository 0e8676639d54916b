from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from truelabel import Annotations
from truelabel.quality.ask import Questions, ask
from truelabel.quality.expected_information import expected_information

Array = NDArray[np.float64]
Pair = tuple[int, int]


def beliefs(seed: int, n: int, r: int, k: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    skill = rng.random((r, 1, 1))
    return rng.dirichlet(np.full(k, 0.8), n), skill * np.eye(k) + (1 - skill) * rng.dirichlet(np.ones(k), (r, k))


def told(q: Array, confusion: Array, pairs: list[Pair]) -> float:
    """I(y; all answers) by going through every combination of answers to every example."""
    k, total = q.shape[1], 0.0
    for n in {n for n, _ in pairs}:
        asked = [r for m, r in pairs if m == n]
        after = 0.0
        for answers in itertools.product(range(k), repeat=len(asked)):
            joint = q[n].copy()
            for r, j in zip(asked, answers, strict=True):
                joint = joint * confusion[r, :, j]
            after += joint.sum() * _entropy(joint / joint.sum())
        total += _entropy(q[n]) - after
    return total


def _entropy(probs: Array) -> float:
    return float(-(probs[probs > 0] * np.log2(probs[probs > 0])).sum())


def pairs_of(questions: Questions) -> list[Pair]:
    return list(zip(questions.example.tolist(), questions.annotator.tolist(), strict=True))


def slow_greedy(q: Array, confusion: Array, budget: float, costs: Array, capacity: int, per_example: int) -> list[Pair]:
    """The definition: of all pairs that are allowed, the one that adds most for its cost, again and again."""
    chosen: list[Pair] = []
    while True:
        rest = budget - sum(costs[r] for _, r in chosen)
        allowed = [
            (n, r)
            for n, r in itertools.product(range(len(q)), range(len(confusion)))
            if (n, r) not in chosen
            and costs[r] <= rest
            and sum(s == r for _, s in chosen) < capacity
            and sum(m == n for m, _ in chosen) < per_example
        ]
        if not allowed:
            return chosen
        before = told(q, confusion, chosen)
        chosen.append(max(allowed, key=lambda pair: (told(q, confusion, [*chosen, pair]) - before) / costs[pair[1]]))


@pytest.mark.parametrize("seed", range(12))
def test_the_lazy_queue_chooses_what_plain_greedy_chooses(seed: int) -> None:
    q, confusion = beliefs(seed, n=3, r=4, k=2 + seed % 2)
    costs = np.random.default_rng(seed).choice([1.0, 1.5, 3.0], 4) if seed % 3 else np.ones(4)
    capacity, per_example = (2, 3) if seed % 2 else (9, 2)
    limits: dict[str, Any] = {"capacity": capacity, "per_example": per_example}
    found = ask(q, confusion, 7, costs=costs, **limits)
    assert pairs_of(found) == slow_greedy(q, confusion, 7, costs, **limits)
    assert found.cumulative_gain[-1] == pytest.approx(told(q, confusion, pairs_of(found)))


@pytest.mark.parametrize("seed", range(10))
def test_greedy_is_close_to_the_best_of_all_sets(seed: int) -> None:
    q, confusion = beliefs(seed, n=3, r=3, k=2)
    everything = list(itertools.product(range(3), range(3)))
    best = max(told(q, confusion, list(chosen)) for chosen in itertools.combinations(everything, 4))
    found = ask(q, confusion, 4).cumulative_gain[-1]
    assert (1 - 1 / np.e) * best <= found <= best + 1e-12
    assert found >= 0.97 * best, "far better than the bound on problems as small as this"


def test_several_are_asked_about_one_example_only_where_that_pays() -> None:
    skilled = np.stack([0.8 * np.eye(2) + 0.1] * 3)
    open_and_known = np.array([[0.5, 0.5], [1 - 1e-6, 1e-6]])
    assert ask(open_and_known, skilled, 3).example.tolist() == [0, 0, 0]
    both_open = np.array([[0.5, 0.5], [0.6, 0.4], [0.7, 0.3]])
    assert sorted(ask(both_open, skilled, 3).example.tolist()) == [0, 1, 2]
    # As if each were the only one, all three are asked about the most doubtful.
    assert ask(both_open, skilled, 3, batch="single").example.tolist() == [0, 0, 0]


def test_single_is_the_order_of_gains() -> None:
    q, confusion = beliefs(0, n=30, r=5, k=3)
    gains = expected_information(q, confusion)
    found = ask(q, confusion, 40, batch="single")
    np.testing.assert_allclose(found.gain, np.sort(gains.ravel())[::-1][:40])
    np.testing.assert_allclose(found.gain, gains[found.example, found.annotator])


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    budget=st.floats(0.5, 40),
    costs=st.none() | st.lists(st.sampled_from([0.1, 0.5, 1.0, 2.5, 7.0]), min_size=5, max_size=5),
    capacity=st.none() | st.integers(0, 6) | st.lists(st.integers(0, 6), min_size=5, max_size=5),
    per_example=st.none() | st.integers(1, 3),
    batch=st.sampled_from(["greedy", "single"]),
)
def test_no_limit_is_passed(
    seed: int, budget: float, costs: Any, capacity: Any, per_example: int | None, batch: Any
) -> None:
    q, confusion = beliefs(seed, n=8, r=5, k=3)
    rng = np.random.default_rng(seed)
    said = Annotations.from_matrix(np.where(rng.random((8, 5)) < 0.3, rng.integers(0, 3, (8, 5)), -1), classes=3)
    found = ask(
        q, confusion, budget, annotations=said, costs=costs, capacity=capacity, per_example=per_example, batch=batch
    )
    pairs, price = pairs_of(found), np.ones(5) if costs is None else np.array(costs)
    assert len(set(pairs)) == len(pairs)
    assert not set(pairs) & set(zip(said.example.tolist(), said.annotator.tolist(), strict=True))
    assert found.cost.sum() <= budget * (1 + 1e-8)
    assert found.cost.tolist() == price[found.annotator].tolist()
    given_each = np.bincount(found.annotator, minlength=5)
    most = np.full(5, 10**6) if capacity is None else np.broadcast_to(capacity, 5)
    assert (given_each <= most).all()
    new = np.bincount(found.example, minlength=8)
    assert new.max(initial=0) <= (per_example or 5)
    assert (found.gain > 0).all()
    rates = found.gain / found.cost
    for n in range(8):  # what is asked later about an example tells no more for its cost
        assert (np.diff(rates[found.example == n]) <= 1e-12).all()
    # Whoever could still be asked is left out only for want of budget or information.
    rest = budget - found.cost.sum()
    for n, r in itertools.product(range(8), range(5)):
        free = (n, r) not in pairs and said.matrix()[n, r] < 0 and given_each[r] < most[r]
        if free and (per_example is None or new[n] < per_example) and price[r] <= rest:
            assert told(q, confusion, [(n, r)]) < 1e-8


@pytest.mark.parametrize("price", [1.0, 0.1, 2.0])
def test_examples_set_aside_early_would_not_have_been_chosen(price: float) -> None:
    q, confusion = beliefs(1, n=500, r=6, k=4)
    said = Annotations.from_matrix(np.where(np.arange(3000).reshape(500, 6) % 5 == 0, 1, -1), classes=4)
    options: dict[str, Any] = {"annotations": said, "costs": np.full(6, price)}
    few = ask(q, confusion, 30 * price, **options)
    # With a limit of capacity that nobody reaches, all examples stay.
    every = ask(q, confusion, 30 * price, capacity=10**6, **options)
    assert len(few) == 30
    assert pairs_of(few) == pairs_of(every)
    np.testing.assert_allclose(few.gain, every.gain)


def test_nobody_is_asked_who_would_tell_nothing() -> None:
    spammers = np.full((3, 2, 2), 0.5)
    assert len(ask([[0.5, 0.5]], spammers, 10)) == 0
    assert len(ask([[1.0, 0.0]], np.eye(2)[None], 10)) == 0


def test_one_who_is_never_wrong_is_asked_once() -> None:
    found = ask([[0.5, 0.5]], np.stack([np.eye(2), 0.8 * np.eye(2) + 0.1]), 10)
    assert (pairs_of(found), found.gain.tolist()) == ([(0, 0)], [1.0])


def test_the_same_person_may_be_asked_again_if_so_told() -> None:
    q, confusion = np.array([[0.5, 0.5]]), (0.8 * np.eye(2) + 0.1)[None]
    said = Annotations.from_matrix([[0]], classes=2)
    assert len(ask(q, confusion, 3, annotations=said)) == 0
    found = ask(q, confusion, 3, annotations=said, repeat=True)
    assert pairs_of(found) == [(0, 0)] * 3
    assert found.cumulative_gain[-1] == pytest.approx(told(q, confusion, [(0, 0)] * 3))


def test_costs_decide_between_the_skilled_and_the_cheap() -> None:
    q, expert, worker = np.full((4, 2), 0.5), 0.98 * np.eye(2) + 0.01, 0.6 * np.eye(2) + 0.2
    gains = expected_information(q[:1], [expert, worker])[0]
    even = gains[0] / gains[1]
    assert ask(q, [expert, worker], 20, costs=[1.05 * even, 1]).annotator[:4].tolist() == [1] * 4
    assert ask(q, [expert, worker], 20, costs=[0.95 * even, 1]).annotator[:4].tolist() == [0] * 4


def test_gains_and_costs_add_up() -> None:
    q, confusion = beliefs(2, n=5, r=3, k=3)
    found = ask(q, confusion, 6, costs=[1.0, 2.0, 1.5])
    np.testing.assert_allclose(found.cumulative_gain, [found.gain[: i + 1].sum() for i in range(len(found))])
    np.testing.assert_allclose(found.cumulative_cost, [found.cost[: i + 1].sum() for i in range(len(found))])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": 0}, "budget must be a number above 0, got 0"),
        ({"budget": float("inf")}, "budget must be a number above 0, got inf"),
        ({"budget": True}, "budget must be a number above 0, got True"),
        ({"budget": "9"}, "budget must be a number above 0, got '9'"),
        ({"costs": [1.0]}, r"costs must be \(2,\), one an annotator, got shape \(1,\)"),
        ({"costs": [1.0, 0.0]}, "costs must be above 0, got 0.0 for annotator 1"),
        ({"costs": [float("nan"), 1.0]}, "costs must be above 0, got nan for annotator 0"),
        ({"capacity": 1.5}, "capacity must be whole numbers of at least 0, got 1.5"),
        ({"capacity": -1}, "capacity must be whole numbers of at least 0, got -1"),
        ({"capacity": [1, 2, 3]}, r"capacity must be one number or \(2,\), one an annotator, got shape \(3,\)"),
        ({"per_example": 0}, "per_example must be a whole number of at least 1, got 0"),
        ({"repeat": 1}, "repeat must be true or false, got 1"),
        ({"batch": "best"}, "batch must be one of greedy, single, got 'best'"),
        (
            {"annotations": Annotations.from_matrix([[0, 1], [1, 0]])},
            "annotations are of 2 examples, 2 annotators and 2 classes, but posterior and confusion of 1, 2 and 2",
        ),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        ask(**{"posterior": [[0.5, 0.5]], "confusion": [np.eye(2)] * 2, "budget": 1, **options})
