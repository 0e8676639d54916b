from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.plan import (
    Planned,
    Shard,
    chosen,
    due,
    longest_last,
    narrowed,
    runs_of,
    scored,
    tried,
)
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Cell, Published, Table
from truelabel.training import TrainingConfig

GRID = {"t1": (0.5, 0.7), "t2": (1.1, 2.0, 4.0)}
RUN = Setting(data="moons", noise="none", method="bi-tempered", training=TrainingConfig(epochs=2))
SEARCH = Cell("Bi-tempered", "moons", RUN, GRID)
PLAIN = Cell("CE", "moons", Setting(data="moons", noise="none", method="cross-entropy", training=TrainingConfig()))
WORTH = {options: n for n, options in enumerate(itertools.product(*GRID.values()))}
"""How good each combination is on the validation part: the last is best by accuracy, the first by likelihood."""


def record(run: Planned) -> dict[str, Any]:
    options = run.setting.to_json()["options"]
    worth = WORTH.get((options.get("t1"), options.get("t2")), 0)
    return {"id": run.id, "seed": run.seed, "valid": {"accuracy": worth / 10, "loss": float(worth)}}


def table_of(*cells: Cell, name: str = "t", **more: Any) -> Table:
    return Table(name=name, title="", cells=cells, **more)


def done(tables: list[tuple[Table, int]], rounds: int = 5) -> tuple[dict[str, dict[str, Any]], list[list[Planned]]]:
    """Do all that is due, round by round."""
    finished: dict[str, dict[str, Any]] = {}
    history = []
    for _ in range(rounds):
        waiting = due(tables, finished)
        if waiting:
            history.append(waiting)
        finished |= {run.id: record(run) for run in waiting}
    return finished, history


def options_of(run: Planned) -> dict[str, Any]:
    options: dict[str, Any] = run.setting.to_json()["options"]
    return options


def test_without_a_search_all_seeds_are_due_at_once() -> None:
    runs = due([(table_of(PLAIN), 3)], {})
    assert [(run.setting, run.seed) for run in runs] == [(PLAIN.setting, 0), (PLAIN.setting, 1), (PLAIN.setting, 2)]
    assert runs[1].label == "t, CE, moons, seed 1"


def test_a_search_comes_first_then_the_other_seeds_with_what_it_chose() -> None:
    finished, history = done([(table_of(SEARCH), 3)])
    assert len(history) == 2
    search, rest = history
    assert [(options_of(run)["t1"], options_of(run)["t2"]) for run in search] == list(itertools.product(*GRID.values()))
    assert {run.seed for run in search} == {0}
    # The first seed of what was chosen is there already.
    assert [(options_of(run), run.seed) for run in rest] == [({"t1": 0.7, "t2": 4.0}, 1), ({"t1": 0.7, "t2": 4.0}, 2)]
    assert len(finished) == 6 + 2


def test_a_search_that_is_not_over_has_chosen_nothing_and_asks_for_the_rest_only() -> None:
    first, *rest = due([(table_of(SEARCH), 2)], {})
    finished = {first.id: record(first)}
    assert chosen(SEARCH, finished) is None
    assert tried(SEARCH, finished) == (1, 6)
    assert scored(SEARCH, 2, finished) == []
    assert due([(table_of(SEARCH), 2)], finished) == rest


def test_the_likelihood_may_choose_instead() -> None:
    finished, _ = done([(table_of(SEARCH), 1)])
    assert chosen(SEARCH, finished) == {"t1": 0.7, "t2": 4.0}
    by_likelihood = Cell(SEARCH.row, SEARCH.column, RUN, GRID, "likelihood")
    assert chosen(by_likelihood, finished) == {"t1": 0.5, "t2": 1.1}


def test_of_equally_good_options_the_first_is_chosen() -> None:
    runs = due([(table_of(SEARCH), 1)], {})
    finished = {run.id: {"valid": {"accuracy": 0.5, "loss": 1.0}} for run in runs}
    assert chosen(SEARCH, finished) == {"t1": 0.5, "t2": 1.1}


def test_what_two_tables_want_is_done_once() -> None:
    again = Cell("Cross entropy", "two moons", PLAIN.setting)
    both = [(table_of(PLAIN), 2), (table_of(again, name="other"), 3)]
    assert [(run.seed, run.label) for run in due(both, {})] == [
        (0, "t, CE, moons, seed 0"),
        (1, "t, CE, moons, seed 1"),
        (2, "other, Cross entropy, two moons, seed 2"),
    ]


def test_nothing_is_due_twice_and_in_the_end_nothing_is() -> None:
    tables = [(table_of(SEARCH, PLAIN), 3), (table_of(PLAIN, SEARCH, name="other"), 4)]
    finished, history = done(tables)
    ids = [run.id for runs in history for run in runs]
    assert len(ids) == len(set(ids)) == len(finished)
    assert due(tables, finished) == []


def test_the_records_of_a_place_are_those_of_its_seeds() -> None:
    finished, _ = done([(table_of(SEARCH, PLAIN), 3)])
    best = RUN.with_options(t1=0.7, t2=4.0)
    assert [row["id"] for row in scored(SEARCH, 3, finished)] == [best.identity(seed) for seed in range(3)]
    del finished[best.identity(1)]
    assert [row["id"] for row in scored(SEARCH, 3, finished)] == [best.identity(0), best.identity(2)]
    assert tried(PLAIN, finished) == (0, 0)


def test_a_calculation_is_planned_like_a_training() -> None:
    calculation = Calculation(calculation="attenuated-loss", options={"scale": 1.0})
    assert runs_of(Cell("a", "b", calculation), 2, {}) == [(calculation, 0), (calculation, 1)]


@given(st.integers(1, 20), st.lists(st.integers(0, 10_000), unique=True, max_size=50))
def test_shards_share_all_runs_without_overlap(of: int, seeds: list[int]) -> None:
    shards = [Shard(number, of) for number in range(1, of + 1)]
    for seed in seeds:
        assert sum(shard.has(RUN.identity(seed)) for shard in shards) == 1


def test_shards_are_about_equal() -> None:
    ids = [RUN.identity(seed) for seed in range(2000)]
    # Binomial with mean 500 and deviation 19.4.
    assert all(400 < sum(Shard(number, 4).has(run) for run in ids) < 600 for number in range(1, 5))


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "1/2/3", "a/b", "-1/4"])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="shard must be NUMBER/OF"):
        Shard.parse(text)


def test_a_table_is_narrowed_by_patterns_with_its_numbers() -> None:
    cells = [Cell(row, column, RUN) for row in ("MNIST: CE", "MNIST: LN", "SVHN: CE") for column in ("20%", "40%")]
    published = {(cell.row, cell.column, "accuracy"): Published(1.0) for cell in cells}
    part = narrowed(table_of(*cells, published=published), rows=["MNIST*"], columns=["4*", "nothing"])
    assert [(cell.row, cell.column) for cell in part.cells] == [("MNIST: CE", "40%"), ("MNIST: LN", "40%")]
    assert set(part.published) == {("MNIST: CE", "40%", "accuracy"), ("MNIST: LN", "40%", "accuracy")}
    either = narrowed(table_of(*cells), rows=["*CE"], columns=["20%", "4*"])
    assert {cell.row for cell in either.cells} == {"MNIST: CE", "SVHN: CE"}
    assert len(either.cells) == 4
    assert len(narrowed(table_of(*cells)).cells) == 6


def test_a_pattern_that_matches_nothing_is_answered_with_what_there_is() -> None:
    with pytest.raises(ValueError, match="its rows are Bi-tempered, CE; its columns moons"):
        narrowed(table_of(SEARCH, PLAIN), rows=["LN*"])


def test_cost_grows_with_epochs_and_examples() -> None:
    short = Planned(replace(RUN, training=TrainingConfig(epochs=2), train=100), 0, "short")
    longer = Planned(replace(RUN, training=TrainingConfig(epochs=6), train=100), 0, "longer")
    larger = Planned(replace(RUN, training=TrainingConfig(epochs=2), train=500), 0, "larger")
    assert (longer.cost, larger.cost) == (3 * short.cost, 5 * short.cost)


def test_a_stack_gives_the_longest_run_first_and_equal_ones_in_order() -> None:
    def runs(epochs: int, name: str) -> list[Planned]:
        setting = replace(RUN, training=TrainingConfig(epochs=epochs))
        return [Planned(setting, seed, f"{name} {seed}") for seed in range(2)]

    calculation = Planned(Calculation(calculation="attenuated-loss"), 0, "calculation")
    stack = longest_last([calculation, *runs(2, "short"), *runs(6, "long")])
    taken = [stack.pop().label for _ in range(5)]
    assert taken == ["long 0", "long 1", "short 0", "short 1", "calculation"]


def test_runs_of_a_search_are_told_apart(table: Table) -> None:
    labels = [run.label for run in due([(table, 2)], {})]
    assert len(set(labels)) == len(labels)
    assert "table-1, GCE, 0.2, q = 0.9, seed 0" in labels
