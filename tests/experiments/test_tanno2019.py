from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.calculations import calculate
from truelabel.experiments.catalogue import find_tables
from truelabel.experiments.noises import make_noise
from truelabel.experiments.records import Records
from truelabel.experiments.runner import reproduce, site_for
from truelabel.experiments.scale import Variation, varied_table
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Table
from truelabel.experiments.tanno2019 import CARDIAC, CIFAR, DENSITY, LEVELS, MNIST, PAPER, SENSITIVITY
from truelabel.methods import get_method
from truelabel.networks import build
from truelabel.training.optimizers import learning_rate_factor

TABLES = {table.name: table for table in PAPER.tables}


def ids(table: Table, *, trained: bool = True) -> set[str]:
    return {cell.setting.identity(0) for cell in table.cells if isinstance(cell.setting, Setting) or not trained}


def setting(table: str, row: str, column: str) -> Setting:
    found = next(cell.setting for cell in TABLES[table].cells if (cell.row, cell.column) == (row, column))
    assert isinstance(found, Setting)
    return found


def test_every_table_and_figure_is_there() -> None:
    assert list(TABLES) == ["table-1", *(f"figure-{number}" for number in range(2, 12))]
    assert find_tables("tanno2019/figure-3")[1][0] is TABLES["figure-3"]


@pytest.mark.parametrize(
    ("row", "density", "metric", "mean", "std"),
    [
        ("Our method", "dense labels", "accuracy", 81.23, 0.21),
        ("Our method", "1 label", "confusion_error_by_cell", 1.22, 0.01),
        ("Our method (no trace norm)", "dense labels", "confusion_error_by_cell", 1.37, 0.12),
        ("MBEM", "1 label", "accuracy", 55.97, 1.23),
        ("generalized EM", "dense labels", "confusion_error_by_cell", 6.13, 0.28),
        ("Single CM", "dense labels", "accuracy", 68.82, 2.27),
        ("Weighted Doctor Net", "1 label", "accuracy", 57.98, 0.14),
        ("Vanilla CNN", "1 label", "accuracy", 36.04, 1.04),
    ],
)
def test_published_numbers(row: str, density: str, metric: str, mean: float, std: float) -> None:
    number = TABLES["table-1"].published[row, density, metric]
    assert (number.mean, number.std) == (mean, std)


def test_only_table_1_has_printed_numbers_and_only_four_methods_a_confusion_error() -> None:
    assert len(TABLES["table-1"].published) == 8 * 2 + 4 * 2
    assert TABLES["table-1"].seeds == 3
    assert not any(table.published for table in PAPER.tables[1:])


def test_training_is_that_of_appendix_a() -> None:
    for config in (MNIST, CIFAR, CARDIAC):
        assert (config.optimizer, config.learning_rate, config.noise_learning_rate) == ("adam", 1e-3, 1e-3)
        assert (config.batch_size, config.epochs, config.select, config.augment) == (50, 200, "best-accuracy", ())
    assert [learning_rate_factor(MNIST, epoch) for epoch in (0, 199)] == [1, 1]
    assert [learning_rate_factor(CIFAR, epoch) for epoch in (0, 49, 50, 100, 150, 199)] == pytest.approx(
        [1, 1, 0.1, 0.01, 0.001, 0.001]
    )
    assert MNIST.validation == CIFAR.validation == 0.1
    assert int(CARDIAC.validation * 262_000) == 22_000
    assert abs(SENSITIVITY.epochs * (54_000 // 50) - 100_000) <= 540


def test_networks_are_those_of_appendix_a() -> None:
    def widths(name: str, size: int) -> list[int]:
        return [layer.out_channels for layer in build(name, (1, size, size)).modules() if isinstance(layer, nn.Conv2d)]

    assert widths(setting("figure-3", "1 label: Our method", "p = 0.3").network, 28) == [32, 32, 64, 64]
    assert widths(setting("figure-7", "Our method", "cardiac views").network, 96) == [128] * 4
    assert setting("table-1", "Our method", "1 label").network == "resnet-50"


def test_methods_have_the_options_of_the_paper() -> None:
    ours, plain = (setting("table-1", row, "1 label") for row in ("Our method", "Our method (no trace norm)"))
    assert ours.options == {"trace": 0.01, "shrinkage": 0.0}
    assert plain.options == {"trace": 0.0, "shrinkage": 0.0}
    for row, base in (("Single CM", "single-confusion"), ("Soft-bootstrap", "soft-bootstrap")):
        found = setting("table-1", row, "dense labels")
        assert (found.method, found.options) == ("majority-vote", {"base": base})
    assert get_method("soft-bootstrap").options()["beta"] == 0.95
    assert get_method("single-confusion").options()["trace"] == 0.01
    decays = {
        cell.row: setting("table-1", cell.row, cell.column).training.weight_decay for cell in TABLES["table-1"].cells
    }
    assert [row for row, decay in decays.items() if decay] == ["Vanilla CNN"]
    for row in ("MBEM", "generalized EM"):
        for table, column, epochs in (("table-1", "1 label", 100), ("figure-7", "cardiac views", 20)):
            found = setting(table, row, column)
            assert found.training.epochs / found.options["rounds"] == epochs
    assert {cell.row.split("λ = ")[1] for cell in TABLES["figure-5"].cells if "λ" in cell.row} == {
        "0.1",
        "0.01",
        "0.001",
    }


@pytest.mark.parametrize("table", PAPER.tables, ids=lambda table: table.name)
def test_methods_and_noises_take_their_options(table: Table) -> None:
    for cell in table.cells:
        given = cell.setting
        if isinstance(given, Setting):
            get_method(given.method).with_options(**{n: v for n, v in given.options.items() if v != "truth"})
            if given.noise != "given":
                make_noise(given.noise, 10, torch.Generator().manual_seed(0), **given.noise_options)


@pytest.mark.parametrize(("density", "labels"), [("dense labels", 5), ("1 label", 1)])
def test_labels_of_an_image(density: str, labels: int) -> None:
    for group, table in (("flippers", "figure-3"), ("hammer-spammers", "figure-9")):
        found = setting(table, f"{density}: Our method", "p = 0.35")
        assert found.noise == group
        generator = torch.Generator().manual_seed(0)
        said = make_noise(found.noise, 10, generator, **found.noise_options)(torch.arange(10), None, generator)
        assert said.counts.tolist() == [labels] * 10
        assert len(said.annotators) == 5


def test_flippers_are_dominant_from_030_on() -> None:
    for cell in TABLES["figure-3"].cells:
        if isinstance(cell.setting, Calculation):
            level = float(cell.column.removeprefix("p = "))
            group = calculate(cell.setting.calculation, 0, **cell.setting.options)
            assert (group["undominated"] == 0) == (level >= 0.3)
            assert group["accuracy"] == pytest.approx(level, abs=0.02)


def test_labels_of_cifar10_are_the_same_for_all_seeds() -> None:
    options = setting("table-1", "Our method", "1 label").noise_options
    labels = torch.arange(10).repeat(40)

    def said(seed: int, **options: int | None) -> tuple[list[int], list[int]]:
        generator = torch.Generator().manual_seed(seed)
        found = make_noise("cifar10-annotators", 10, generator, **options)(labels, None, generator)
        return found.annotator.tolist(), found.label.tolist()

    assert said(0, **options) == said(1, **options)
    assert said(0, labels=1) != said(1, labels=1)
    assert said(0, labels=1, draw=1) != said(0, labels=1, draw=0)
    _, label = said(0, draw=0)
    assert np.mean(np.array(label) == np.repeat(labels.numpy(), 4)) == pytest.approx(0.45, abs=0.04)


def test_nothing_is_trained_twice() -> None:
    assert ids(TABLES["figure-2"]) < ids(TABLES["table-1"])
    assert ids(TABLES["figure-4"]) < ids(TABLES["figure-3"])
    for first, second in (("figure-3", "figure-6"), ("figure-9", "figure-10")):
        assert len(ids(TABLES[first]) & ids(TABLES[second])) == len(LEVELS) * len(DENSITY)  # our method
    without = ids(TABLES["figure-11"]) - ids(TABLES["figure-3"]) - ids(TABLES["figure-9"])
    assert len(without) == 2 * len(LEVELS) * len(DENSITY)  # those without trace, of both groups
    # Nine methods on MNIST, eight on CIFAR-10 and on cardiac views, and the eleven of the sensitivity.
    everything = set[str]().union(*map(ids, PAPER.tables))
    assert len(everything) == 2 * 9 * len(LEVELS) * len(DENSITY) + 8 * 2 + 8 + 11


@pytest.mark.parametrize("name", ["table-1", "figure-2", "figure-4", "figure-8"])
def test_records_have_what_a_table_shows(name: str, tmp_path: Path) -> None:
    variation = Variation(scale="smoke")
    table = varied_table(TABLES[name], variation)
    records = Records(tmp_path / "records.jsonl")
    report = reproduce([table], records, site_for(variation, tmp_path / "work", device="cpu"), variation=variation)
    assert (report.failed, report.left) == (0, 0)
    found: set[str] = set().union(*(record["scores"] for record in records.finished().values()))
    assert {metric.name for metric in table.metrics} <= found
