"""Cards of annotators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from truelabel.report import read_run
from truelabel.report.annotator_cards import MOST_CARDS, annotator_cards, doubted_labels, telling_mistakes
from truelabel.report.run_tables import Person

from .conftest import CLASSES


def test_the_least_skilled_come_first_with_their_own_matrix(trained: Path) -> None:
    run = read_run(trained)
    cards = annotator_cards(run)
    assert [card.person.skill for card in cards] == sorted(person.skill for person in run.people)
    assert run.confusion is not None
    for card in cards:
        np.testing.assert_array_equal(card.matrix, run.confusion[run.people.index(card.person)])
    assert run.labels is not None
    assert sum(card.doubted or 0 for card in cards) == int(run.labels.doubted.sum()) > 0


def test_mistakes_are_the_largest_cells_off_the_diagonal() -> None:
    cells = np.array([[0.5, 0.46, 0.04], [0.1, 0.9, 0.0], [0.0, 0.3, 0.7]])
    found = telling_mistakes(cells, ["a", "b", "c"])
    assert [tuple(mistake) for mistake in found] == [("a", "b", 0.46), ("c", "b", 0.3), ("b", "a", 0.1)]
    assert cells[0, 0] == 0.5
    assert len(telling_mistakes(cells, ["a", "b", "c"], most=1)) == 1


def test_of_many_only_the_ends_get_a_card(trained: Path) -> None:
    run = read_run(trained)
    people = [Person(f"p{n}", 9, n / 100, None, None) for n in range(100)]
    cards = annotator_cards(replace(run, people=people, confusion=np.tile(np.eye(4), (100, 1, 1))))
    assert len(cards) == MOST_CARDS
    assert (cards[0].person.name, cards[-1].person.name) == ("p0", "p99")


def test_what_is_unknown_or_too_large_is_left_out(trained: Path) -> None:
    run = read_run(trained)
    hollow = np.full((4, 4, 4), np.nan)
    assert {card.matrix is None for card in annotator_cards(replace(run, confusion=hollow))} == {True}
    assert {card.matrix is None for card in annotator_cards(replace(run, confusion=None))} == {True}
    wide = replace(run, classes=[str(n) for n in range(30)], confusion=np.full((4, 30, 30), 1 / 30))
    assert annotator_cards(wide)[0].matrix is None
    assert doubted_labels(replace(run, labels=None)) is None
    assert annotator_cards(replace(run, labels=None))[0].doubted is None
    assert len(CLASSES) == 4
