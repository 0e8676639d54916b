from __future__ import annotations

import torch

from truelabel.training.seeds import generator_of, seed_of, seeded


def test_every_part_of_the_name_matters() -> None:
    seeds = [seed_of(0, "a", "x"), seed_of(1, "a", "x"), seed_of(0, "b", "x"), seed_of(0, "a", "y")]
    assert len({*seeds, seed_of(0, "a", "x", rank=1)}) == 5


def test_names_do_not_run_together() -> None:
    assert seed_of(1, "1a", "b") != seed_of(11, "a", "b")
    assert seed_of(0, "ab", "c") != seed_of(0, "a", "bc")


def test_a_seed_is_the_same_everywhere() -> None:
    # Written down, so that a change of the recipe, which would change every published run, is noticed.
    assert seed_of(0, "main", "order") == 32192920845052901


def test_generators_are_independent_of_each_other() -> None:
    first, second = generator_of(0, "main", "order"), generator_of(0, "main", "order")
    torch.rand(5, generator=first)
    assert torch.equal(torch.rand(3, generator=second), torch.rand(3, generator=generator_of(0, "main", "order")))


def test_seeded_gives_the_default_generator_back() -> None:
    torch.manual_seed(4)
    expected = torch.rand(2)
    torch.manual_seed(4)
    with seeded(0, "main", "init"):
        inside = torch.rand(2)
    with seeded(0, "main", "init"):
        again = torch.rand(2)
    assert torch.equal(inside, again)
    assert torch.equal(torch.rand(2), expected)
