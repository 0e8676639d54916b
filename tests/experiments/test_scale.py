from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.scale import Variation, check_grid, fitted, varied, varied_table
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Cell, Published, Table
from truelabel.training import TrainingConfig

RUN = Calculation(calculation="attenuated-loss")
LONG = Setting(
    data="cifar10",
    method="co-teaching",
    network="resnet-34-imagenet",
    training=TrainingConfig(epochs=100, batch_size=128, schedule="step", step_epochs=(40, 80), learning_rate=0.01),
    options={"noise_rate": 0.3},
    train=50_000,
    average=10,
)


def run_at(variation: Variation, setting: Setting = LONG) -> Setting:
    found = varied(setting, variation)
    assert isinstance(found, Setting)
    return found


def test_at_the_papers_scale_nothing_changes() -> None:
    assert run_at(Variation(scale="paper")) == LONG
    assert run_at(Variation()).identity(0) == LONG.identity(0)


def test_a_calculation_is_the_same_at_every_scale() -> None:
    assert varied(RUN, Variation(scale="smoke")) is RUN


def test_fewer_epochs_shrink_steps_but_only_bound_options_that_are_lengths_of_time() -> None:
    short = run_at(Variation(epochs=50))
    assert short.training.epochs == 50
    assert short.training.step_epochs == (20, 40)
    # Both are ten epochs by default.
    assert (short.options["ramp"], short.options["warm_up"]) == (10, 10)
    shorter = run_at(Variation(epochs=7))
    assert (shorter.options["ramp"], shorter.options["warm_up"]) == (7, 7)
    assert short.options["noise_rate"] == 0.3
    assert (short.training.learning_rate, short.training.batch_size, short.train) == (0.01, 128, 50_000)


def test_options_of_the_setting_are_bounded_rather_than_the_defaults() -> None:
    assert run_at(Variation(epochs=30), LONG.with_options(ramp=40)).options["ramp"] == 30


def test_a_length_of_time_of_none_stays_none() -> None:
    assert run_at(Variation(epochs=1), LONG.with_options(ramp=0)).options["ramp"] == 0
    revised = replace(LONG, method="t-revision", options={})
    assert run_at(Variation(epochs=5), revised).options == {"warm_up": 5}


def test_every_round_has_an_epoch_at_least() -> None:
    rounds = replace(LONG, method="generalized-em", options={"rounds": 8})
    assert [run_at(Variation(epochs=e), rounds).options["rounds"] for e in (50, 8, 3, 1)] == [8, 8, 3, 1]


def test_more_epochs_lengthen_the_schedule() -> None:
    longer = run_at(Variation(epochs=200))
    assert (longer.training.step_epochs, longer.options["ramp"]) == ((80, 160), 10)


@pytest.mark.parametrize(("epochs", "average", "patience"), [(50, 10, 30), (20, 10, 20), (4, 4, 4)])
def test_averages_and_patience_are_no_longer_than_the_training(epochs: int, average: int, patience: int) -> None:
    patient = replace(LONG, training=replace(LONG.training, patience=30))
    short = run_at(Variation(epochs=epochs), patient)
    assert (short.average, short.training.patience) == (average, patience)


@given(st.integers(1, 300), st.lists(st.integers(0, 300), max_size=4), st.integers(1, 300))
def test_steps_stay_in_order_and_in_proportion(epochs: int, steps: list[int], to: int) -> None:
    config = TrainingConfig(epochs=epochs, step_epochs=tuple(sorted(steps)))
    found = run_at(Variation(epochs=to), replace(LONG, training=config, average=1)).training.step_epochs
    assert list(found) == sorted(found)
    for before, after in zip(sorted(steps), found, strict=True):
        assert abs(after - before * to / epochs) <= 0.5


def test_what_is_asked_for_is_what_is_run() -> None:
    changed = run_at(
        Variation(examples=500, test=60, precision="bf16-mixed", network="wrn-28-2", batch_size=32, epochs=7)
    )
    assert (changed.train, changed.test, changed.network) == (500, 60, "wrn-28-2")
    assert (changed.training.precision, changed.training.batch_size, changed.training.epochs) == ("bf16-mixed", 32, 7)


def test_small_bounds_what_is_not_asked_for() -> None:
    small = run_at(Variation(scale="small"))
    assert (small.train, small.test, small.training.epochs, small.average) == (1000, 1000, 5, 5)
    assert small.network == LONG.network
    assert run_at(Variation(scale="small"), replace(LONG, train=300)).train == 300


def test_what_is_asked_for_goes_before_the_bounds_of_the_scale() -> None:
    """Or a record would say "small scale, 20 epochs" of a run that had five."""
    asked = run_at(Variation(scale="small", epochs=20, examples=3000, test=2000))
    assert (asked.training.epochs, asked.train, asked.test) == (20, 3000, 2000)
    smoke = run_at(Variation(scale="smoke", network="wrn-28-2", batch_size=20, epochs=2))
    assert (smoke.network, smoke.training.batch_size, smoke.training.epochs) == ("wrn-28-2", 20, 2)


@pytest.mark.parametrize(
    ("network", "small"),
    [
        ("resnet-34-imagenet", "tanno-cnn:4"),
        ("wrn-28-2", "tanno-cnn:4"),
        ("lenet-5", "tanno-cnn:4"),
        ("collier-cnn", "tanno-cnn:4"),
        ("unet", "unet:4"),
        ("unet:32", "unet:4"),
        ("mlp:2000", "mlp:16"),
    ],
)
def test_a_smoke_test_has_the_smallest_network_of_its_kind(network: str, small: str) -> None:
    smoke = run_at(Variation(scale="smoke"), replace(LONG, network=network))
    assert (smoke.network, smoke.training.batch_size, smoke.train, smoke.test) == (small, 16, 48, 24)


def test_a_smoke_test_makes_do_with_few_draws() -> None:
    smoke = run_at(Variation(scale="smoke"), replace(LONG, method="heteroscedastic", options={"samples": 1000}))
    assert smoke.options["samples"] == 4


def table_of(cells: list[Cell], **more: Any) -> Table:
    return Table(name="t", title="", cells=tuple(cells), **more)


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1))
def test_a_smoke_test_covers_every_row_and_every_column(places: set[tuple[int, int]]) -> None:
    table = table_of([Cell(f"row {r}", f"column {c}", RUN) for r, c in sorted(places)])
    smoke = varied_table(table, Variation(scale="smoke"))
    assert smoke.rows == table.rows
    assert set(smoke.columns) == set(table.columns)
    assert all(cell in table.cells for cell in smoke.cells)
    assert len(smoke.cells) < len(table.rows) + len(table.columns)


def test_a_full_square_needs_its_diagonal_only() -> None:
    table = table_of([Cell(f"row {r}", f"column {c}", RUN) for r in range(5) for c in range(5)])
    assert [(c.row, c.column) for c in varied_table(table, Variation(scale="smoke")).cells] == [
        (f"row {n}", f"column {n}") for n in range(5)
    ]


@pytest.mark.parametrize(("rows", "columns"), [(4, 6), (6, 4), (1, 3), (3, 1)])
def test_rows_and_columns_of_a_smoke_test_keep_their_order(rows: int, columns: int) -> None:
    table = table_of([Cell(f"row {r}", f"column {c}", RUN) for r in range(rows) for c in range(columns)])
    smoke = varied_table(table, Variation(scale="smoke"))
    assert (smoke.rows, smoke.columns) == (table.rows, table.columns)


def test_numbers_of_places_that_are_not_run_are_left_out() -> None:
    cells = [Cell(f"row {r}", f"column {c}", RUN) for r in range(2) for c in range(2)]
    published = {(cell.row, cell.column, "accuracy"): Published(1.0) for cell in cells}
    smoke = varied_table(table_of(cells, published=published), Variation(scale="smoke"))
    assert set(smoke.published) == {("row 0", "column 0", "accuracy"), ("row 1", "column 1", "accuracy")}


@pytest.mark.parametrize(
    ("scale", "seeds", "values"),
    [("smoke", 1, (0.3,)), ("small", 1, (0.2, 0.4)), ("paper", 5, (0.1, 0.2, 0.3, 0.4))],
)
def test_seeds_and_searches_shrink_with_the_scale(scale: Any, seeds: int, values: tuple[float, ...]) -> None:
    grid = {"noise_rate": (0.1, 0.2, 0.3, 0.4)}
    table = varied_table(table_of([Cell("a", "b", LONG, grid)], seeds=5), Variation(scale=scale))
    assert table.seeds == seeds
    assert table.cells[0].grid == {"noise_rate": values}


def test_lengths_of_time_that_are_searched_are_bounded_too_and_none_is_tried_twice() -> None:
    grid = {"ramp": (0, 4, 10, 50), "noise_rate": (0.1, 0.2)}
    table = varied_table(table_of([Cell("a", "b", LONG, grid)]), Variation(epochs=10))
    assert table.cells[0].grid == {"ramp": (0, 4, 10), "noise_rate": (0.1, 0.2)}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"scale": "huge"}, "smoke, small, paper"),
        ({"epochs": 0}, "epochs"),
        ({"examples": 0}, "examples"),
        ({"test": -3}, "test"),
        ({"batch_size": 1.5}, "batch_size"),
        ({"precision": "16-true"}, "precision"),
        ({"network": "foo"}, "unknown network 'foo': choose from auto"),
        ({"noise_learning_rate": 0.0}, "noise_learning_rate must be positive"),
        ({"noise_learning_rate": float("inf")}, "noise_learning_rate must be positive"),
        ({"epsilon": 0.0}, "epsilon must be positive"),
    ],
)
def test_what_no_run_can_have_is_refused(options: dict[str, Any], match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Variation(**options)


def test_a_variation_tells_what_was_said_and_nothing_else() -> None:
    assert Variation().to_json() == {"scale": "paper"}
    told = Variation(scale="small", epochs=7, network="mlp", batch_size=64, precision="bf16-mixed")
    assert told.to_json() == {
        "scale": "small",
        "epochs": 7,
        "network": "mlp",
        "batch_size": 64,
        "precision": "bf16-mixed",
    }
    assert told.says() == "small scale, 7 epochs, mlp, bf16-mixed, batches of 64"


def test_matrices_get_the_rate_that_is_asked_for_and_that_of_the_paper_otherwise() -> None:
    own = replace(LONG, training=replace(LONG.training, noise_learning_rate=1e-3))
    faster = Variation(noise_learning_rate=5e-3)
    assert [run_at(each, own).training.noise_learning_rate for each in (Variation(), faster)] == [1e-3, 5e-3]
    assert (faster.to_json(), faster.says()) == (
        {"scale": "paper", "noise_learning_rate": 5e-3},
        "paper scale, matrices at a rate of 0.005",
    )


def test_epsilon_is_changed_where_there_is_adam() -> None:
    other = Variation(epsilon=1e-7)
    gradient = replace(LONG, training=replace(LONG.training, optimizer="sgd"))
    assert LONG.training.optimizer == "adam"
    assert run_at(other, LONG).training.epsilon == 1e-7
    assert run_at(other, gradient) == gradient
    assert (other.to_json(), other.says()) == ({"scale": "paper", "epsilon": 1e-7}, "paper scale, Adam's ε 1e-07")


def stated(**grid: tuple[float, ...]) -> Variation:
    return Variation(grid=tuple(grid.items()))


SEARCHED = Cell("a", "b", LONG, {"noise_rate": (0.1, 0.2, 0.3), "ramp": (50, 10, 0)})


def test_only_the_values_stated_are_searched_as_the_cell_has_them_and_in_its_order() -> None:
    """The name of a run depends on whether it is 10 or 10.0, and of equally good options the first is chosen."""
    plain = Cell("plain", "b", LONG)
    table = varied_table(table_of([SEARCHED, plain]), stated(ramp=(10.0, 50.0)))
    assert table.cells[0].grid == {"noise_rate": (0.1, 0.2, 0.3), "ramp": (50, 10)}
    assert all(isinstance(value, int) for value in table.cells[0].grid["ramp"])
    assert (table.cells[0].setting, table.cells[1]) == (LONG, plain)


def test_what_is_stated_of_a_grid_goes_before_the_bounds_of_the_scale_and_lengths_are_bounded_afterwards() -> None:
    smoke = Variation(scale="smoke", epochs=20, grid=(("ramp", (10, 50)),))
    assert varied_table(table_of([SEARCHED]), smoke).cells[0].grid == {"noise_rate": (0.2,), "ramp": (20, 10)}


def test_a_subset_is_the_same_however_it_is_said_and_comes_back_from_a_record() -> None:
    variation = stated(softness=(1.0,), burn_in=(20.0, 5.0, 20.0))
    assert variation == stated(burn_in=(5, 20), softness=(1,))
    assert len({variation, stated(burn_in=(5, 20), softness=(1,)), Variation()}) == 2
    told = variation.to_json()
    assert told == {"scale": "paper", "grid": {"burn_in": [5.0, 20.0], "softness": [1.0]}}
    assert Variation.from_json(json.loads(json.dumps(told))) == variation
    assert Variation.from_json({"scale": "small", "epochs": 3}) == Variation(scale="small", epochs=3)
    assert variation.says() == "paper scale, burn_in among 5, 20, softness among 1"


def test_values_and_options_that_are_not_searched_are_refused() -> None:
    table = table_of([SEARCHED, Cell("plain", "b", LONG)])
    with pytest.raises(ValueError, match=r"^--grid ramp=7: a, b of t does not search .*: choose from 50, 10, 0$"):
        varied_table(table, stated(ramp=(10, 7)))
    with pytest.raises(ValueError, match=r"^--grid q: no grid of t has it; choose from noise_rate, ramp$"):
        check_grid([table], stated(q=(1,)))
    with pytest.raises(ValueError, match="nothing is searched there"):
        check_grid([table_of([Cell("plain", "b", LONG)])], stated(q=(1,)))
    check_grid([table_of([Cell("plain", "b", LONG)]), table], stated(ramp=(1,)))


@pytest.mark.parametrize("grid", [(("q", ()),), (("q", (1.0,)), ("q", (2.0,)))])
def test_a_grid_has_every_option_once_and_not_empty(grid: Any) -> None:
    with pytest.raises(ValueError, match="grid must have every option once"):
        Variation(grid=grid)


def test_a_table_is_fitted_to_what_was_stated_for_another() -> None:
    other = Cell("other", "b", LONG, {"noise_rate": (0.4,)})
    plain = Cell("plain", "b", LONG)
    published = {("other", "b", "accuracy"): Published(1.0)}
    found = fitted(table_of([SEARCHED, other, plain], published=published), stated(noise_rate=(0.1,), q=(0.5,)))
    assert found is not None
    assert (found[0].cells, found[0].published, found[1]) == ((SEARCHED, plain), {}, stated(noise_rate=(0.1,)))
    assert fitted(table_of([other]), stated(noise_rate=(0.1,))) is None


def test_lengths_in_steps_stay_as_they_are() -> None:
    masks = replace(LONG, method="pixelwise-confusion", options={})
    assert run_at(Variation(epochs=3), masks).options == {}
