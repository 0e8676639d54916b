from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import Tensor

from truelabel.corruption import assignment
from truelabel.corruption.assignment import MANY, assign, label_bounds

Pairs = tuple[Tensor, Tensor]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def weights(annotators: int) -> Tensor:
    return torch.arange(1, annotators + 1, dtype=torch.double) ** 2


def well_formed(pairs: Pairs, examples: int, annotators: int, low: int, high: int) -> bool:
    example, annotator = pairs
    key = example * annotators + annotator
    counts = example.bincount(minlength=examples)
    in_order = bool((key.diff() > 0).all())
    return in_order and bool((counts >= low).all() and (counts <= high).all() and (annotator < annotators).all())


@pytest.mark.parametrize("annotators", [5, 40, MANY - 1, MANY, 2 * MANY])
@pytest.mark.parametrize("weighted", [False, True])
def test_annotators_are_distinct_and_in_order(annotators: int, weighted: bool) -> None:
    for low, high in [(1, 1), (2, 5)]:
        pairs = assign(300, annotators, (low, high), weights(annotators) if weighted else None, generator())
        assert well_formed(pairs, 300, annotators, low, high)


@pytest.mark.parametrize(("annotators", "bounds"), [(1, (1, 1)), (7, (2, 4)), (MANY - 1, (1, 3)), (2 * MANY, (30, 40))])
def test_small_cases_draw_what_they_always_drew(annotators: int, bounds: tuple[int, int]) -> None:
    low, high = bounds
    source = generator(3)
    count = torch.randint(low, high + 1, (50, 1), generator=source)
    expected = (torch.rand(50, annotators, generator=source).argsort(-1) < count).nonzero(as_tuple=True)
    actual = assign(50, annotators, bounds, None, generator(3))
    assert torch.equal(actual[0], expected[0])
    assert torch.equal(actual[1], expected[1])


def test_the_size_of_chunks_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    for annotators, load in [(7, None), (7, weights(7)), (MANY, weights(MANY))]:
        whole = assign(100, annotators, (2, 4), load, generator())
        monkeypatch.setattr(assignment, "_CHUNK", 50)
        parts = assign(100, annotators, (2, 4), load, generator())
        monkeypatch.undo()
        assert all(torch.equal(a, b) for a, b in zip(whole, parts, strict=True))


def successive(load: list[float], pair: tuple[int, int]) -> float:
    """Probability that two annotators, drawn one after the other, are this pair."""
    total = sum(load)
    return sum(load[a] / total * load[b] / (total - load[a]) for a, b in itertools.permutations(pair))


@pytest.mark.parametrize("one_by_one", [False, True], ids=["ranked", "one by one"])
def test_pairs_are_drawn_in_proportion_to_the_workload(one_by_one: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if one_by_one:
        monkeypatch.setattr(assignment, "MANY", 4)
    load, n = [1.0, 2.0, 4.0, 13.0], 40_000
    example, annotator = assign(n, 4, (2, 2), torch.tensor(load, dtype=torch.double), generator())
    assert torch.equal(example, torch.arange(n).repeat_interleave(2))
    first, second = annotator.view(n, 2).T
    for pair in itertools.combinations(range(4), 2):
        share = ((first == pair[0]) & (second == pair[1])).double().mean()
        expected = successive(load, pair)
        assert abs(share - expected) < 4 * np.sqrt(expected * (1 - expected) / n)


def test_of_many_every_one_is_drawn_equally_often() -> None:
    annotators, n = 300, 60_000
    _, annotator = assign(n, annotators, (3, 3), None, generator())
    share = annotator.bincount(minlength=annotators) / n
    p = 3 / annotators
    assert ((share - p).abs() < 5 * (p * (1 - p) / n) ** 0.5).all()


def test_one_who_does_nearly_everything_is_named_once() -> None:
    load = torch.ones(MANY, dtype=torch.double)
    load[17] = 1e9
    example, annotator = assign(2000, MANY, (3, 3), load, generator())
    assert well_formed((example, annotator), 2000, MANY, 3, 3)
    assert (annotator == 17).sum() == 2000
    others = annotator.bincount(minlength=MANY)[torch.arange(MANY) != 17]
    expected = 4000 / (MANY - 1)
    assert (others - expected).abs().max() < 5 * expected**0.5


def test_memory_follows_the_labels_not_the_annotators() -> None:
    # Ranked, these would be 100 GB of lots.
    example, _ = assign(250_000, 100_000, (1, 1), None, generator())
    assert torch.equal(example, torch.arange(250_000))


def test_no_examples_need_nobody() -> None:
    for annotators in (3, MANY):
        assert [len(part) for part in assign(0, annotators, (1, 2), None, generator())] == [0, 0]


@pytest.mark.parametrize(("given", "bounds"), [(None, (4, 4)), (1, (1, 1)), (4, (4, 4)), ((2, 3), (2, 3))])
def test_bounds_are_read(given: int | tuple[int, int] | None, bounds: tuple[int, int]) -> None:
    assert label_bounds(given, 4) == bounds


@pytest.mark.parametrize("given", [0, 5, (0, 2), (3, 2), (1, 5)])
def test_bounds_that_cannot_be_are_refused(given: int | tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"labels_per_example must lie in 1\.\.4, got"):
        label_bounds(given, 4)
