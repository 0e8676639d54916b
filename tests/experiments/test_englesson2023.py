from __future__ import annotations

import pytest

from truelabel.experiments.catalogue import find_tables
from truelabel.experiments.englesson2023 import GRIDS, OPTIONS, PAPER, TABLES, found_options
from truelabel.experiments.plan import due
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Table


def table(name: str) -> Table:
    return find_tables(f"englesson2023/{name}")[1][0]


def setting(name: str, row: str, column: str) -> Setting:
    (found,) = (cell.setting for cell in table(name).cells if (cell.row, cell.column) == (row, column))
    assert isinstance(found, Setting)
    return found


def test_all_tables_and_figures_are_there() -> None:
    names = {each.name for each in PAPER.tables}
    assert names == {*(f"table-{n}" for n in range(1, 7)), *(f"figure-{n}" for n in range(1, 8)), "figure-e1"}


@pytest.mark.parametrize(
    ("row", "column", "mean", "std"),
    [
        ("MNIST: LN", "asym 40", 96.54, 1.20),
        ("CIFAR-10: LN", "asym 40", 82.18, 1.30),
        ("CIFAR-100: GCE", "sym 60", 42.85, 0.79),
        ("MNIST: CE", "0%", 99.27, 0.07),
        ("CIFAR-100: LN", "asym 40", 61.20, 1.22),
    ],
)
def test_published_numbers(row: str, column: str, mean: float, std: float) -> None:
    number = table("table-1").published[row, column, "accuracy"]
    assert (number.mean, number.std) == (mean, std)


@pytest.mark.parametrize(
    ("name", "row", "column", "options", "mean"),
    [
        ("table-4", "MNIST: LN", "sym 60", "0.5, 0.1", 90.93),
        ("table-5", "CIFAR-10: GCE", "asym 40", "0.1", 72.90),
        ("table-6", "LN", "10N worst", "0.5, 0.5", 74.31),
    ],
)
def test_searches_have_the_options_and_the_accuracy_of_the_paper(
    name: str, row: str, column: str, options: str, mean: float
) -> None:
    published = table(name).published
    assert published[row, column, "options"].text == options
    assert published[row, column, "accuracy"].mean == mean


def test_table_1_is_complete() -> None:
    full = table("table-1")
    assert len(full.cells) == 3 * 9 * 9 == len(full.published)
    mnist = [cell for cell in full.cells if cell.row.startswith("MNIST")]
    assert len(mnist) * full.seeds == 405


def test_the_protocol_of_mnist() -> None:
    run = setting("table-1", "MNIST: LN", "asym 40")
    assert run.options == {"temperature": 0.5, "scale": 0.1}
    assert (run.network, run.train, run.noise_options) == ("lenet-5", 50_000, {"rate": 0.4, "which": "mnist"})
    config = run.training
    assert (config.optimizer, config.learning_rate, config.batch_size, config.epochs) == ("adam", 1e-3, 256, 100)
    assert (config.validation, config.select, config.augment, config.weight_decay) == (0.1, "last", (), 0)


def test_the_protocol_of_cifar() -> None:
    config = setting("table-1", "CIFAR-100: CE", "sym 80").training
    assert (config.optimizer, config.learning_rate, config.momentum) == ("sgd", 0.01, 0.9)
    assert (config.batch_size, config.epochs, config.weight_decay, config.schedule) == (128, 300, 5e-4, "constant")


def test_pictures_of_cifar_are_standardised_and_no_others() -> None:
    settings = [cell.setting for each in TABLES for cell in each.cells if isinstance(cell.setting, Setting)]
    for each in settings:
        assert each.network.endswith("-cifar") == each.data.startswith("cifar")


def test_options_found_are_among_those_searched() -> None:
    for name in ("table-4", "table-5", "table-6"):
        for cell in table(name).cells:
            method = cell.row.split(": ")[-1]
            printed = table(name).published[cell.row, cell.column, "options"].text
            values = dict(zip(OPTIONS[method], map(float, printed.split(",")), strict=True))
            assert values.keys() == cell.grid.keys()
            for option, value in values.items():
                assert value in cell.grid[option], f"{cell.row}, {cell.column}: {option}"
    assert GRIDS["GCE"]["q"] == (0.1, 0.3, 0.5, 0.7, 0.9)


def test_whole_numbers_stay_whole() -> None:
    assert found_options("Het-τ-Σfull | 10, 4", ("a",)) == {("Het-τ-Σfull", "a"): {"temperature": 10.0, "factors": 4}}


def test_the_full_covariance_is_run_once_for_tables_2_and_3() -> None:
    two, three = (setting(name, row, "10N worst") for name, row in (("table-2", "LN"), ("table-3", "Full")))
    assert two.identity(0) == three.identity(0)
    everything = due([(each, 1) for each in TABLES[:3]], {})
    assert len(everything) == sum(len(due([(each, 1)], {})) for each in TABLES[:3]) - 2
