from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from truelabel.annotations import Annotations
from truelabel.experiments.catalogue import find_tables
from truelabel.experiments.collier2020 import COUNTS, FIXED, OURS, PAPER, RATES, mislabelled, training
from truelabel.experiments.noises import make_noise
from truelabel.experiments.plan import due
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Cell, Table
from truelabel.training import Job
from truelabel.training.run import split_of

NOISY = ("table-1", "table-4", "table-5", "table-6")


def table(name: str) -> Table:
    return find_tables(f"collier2020/{name}")[1][0]


def cell(name: str, row: str, column: str) -> Cell:
    (found,) = (each for each in table(name).cells if (each.row, each.column) == (row, column))
    return found


def setting(name: str, row: str, column: str) -> Setting:
    found = cell(name, row, column).setting
    assert isinstance(found, Setting)
    return found


def test_all_tables_and_figures_are_there() -> None:
    names = {*(f"table-{n}" for n in range(1, 7)), *(f"figure-{n}" for n in (1, 2, 3, 4, 6))}
    assert {each.name for each in PAPER.tables} == {*names, "temperatures", "section-3"}


@pytest.mark.parametrize(
    ("name", "row", "column", "numbers"),
    [
        ("table-1", OURS, "CIFAR-10", (-1.067, 0.702, 0.853)),
        ("table-1", "MentorNet", "SVHN", (-0.986, 0.836, 0.952)),
        ("table-3", OURS, "MNIST", (-0.017, 0.995)),
        ("table-4", "Co-teaching", "CIFAR-10", (-2.325, 0.700, 0.849)),
        ("table-5", FIXED, "SVHN", (-0.442, 0.898, 0.957)),
        ("table-6", "Bootstrapping", "MNIST", (-1.085, 0.714, 0.991)),
        ("table-6", "Homoscedastic", "CIFAR-10", (-1.436, 0.583, 0.796)),
        ("table-2", OURS, "Cityscapes", (75.32,)),
        ("table-2", "Homoscedastic", "PASCAL VOC", (84.89,)),
    ],
)
def test_published_numbers(name: str, row: str, column: str, numbers: tuple[float, ...]) -> None:
    full = table(name)
    assert tuple(full.published[row, column, metric.name].mean for metric in full.metrics) == numbers


@pytest.mark.parametrize("name", [*NOISY, "table-2", "table-3"])
def test_every_place_has_its_numbers_and_is_compared_with_ours(name: str) -> None:
    full = table(name)
    assert len(full.published) == len(full.cells) * len(full.metrics)
    assert (full.seeds, full.test, full.against) == (25, "paired", OURS)
    # What the paper marks, it compares with ours, which has no mark (but for Table 2, which marks the best).
    marked = {row for (row, _, _), number in full.published.items() if re.search(r"[*†‡]$", number.text)}
    assert (OURS in marked) == (name == "table-2")


def test_the_protocol() -> None:
    run = setting("table-1", OURS, "MNIST")
    assert (run.network, run.noise, run.noise_options["rates"][5:]) == (
        "collier-cnn",
        "by-class",
        (0.2, 0.3, 0.4, 0.5, 0.6),
    )
    config = run.training
    assert (config.optimizer, config.learning_rate, config.batch_size, config.epochs) == ("adam", 1e-3, 128, 1000)
    assert (config.patience, config.select, config.augment, config.weight_decay) == (5, "best", (), 0)
    assert (run.train, run.test, run.options) == (None, None, {"samples": 1000, "prediction_samples": 1000})
    searched = cell("table-1", OURS, "MNIST")
    assert searched.chosen_by == "likelihood"
    text = "0.025, 0.05, 0.1, 0.2, 0.6, 1.0, 1.4, 1.8, 2.2, 2.6, 3.0, 5.0, 10.0, 15.0, 20.0, 35.0, 50.0, 100.0"
    assert list(searched.grid["temperature"]) == [float(value) for value in text.split(",")]


def test_the_baselines() -> None:
    assert setting("table-1", "Bootstrapping", "SVHN").options == {"beta": 0.8}
    assert setting("table-5", "Co-teaching", "CIFAR-10").options == {"noise_rate": 0.09, "ramp": 10}
    mentor = cell("table-6", "MentorNet", "CIFAR-10")
    assert mentor.grid == {"softness": (0.0, 0.5, 1.0, 2.0), "burn_in": (0, 5, 10)}
    assert setting("table-6", "MentorNet", "CIFAR-10").options == {"noise_rate": 0.288, "decay": 0.9}


@pytest.mark.parametrize(
    ("data", "train", "valid"), [("MNIST", 50_000, 10_000), ("CIFAR-10", 40_000, 10_000), ("SVHN", 63_257, 10_000)]
)
def test_the_sizes_of_the_parts(data: str, train: int, valid: int) -> None:
    examples = sum(COUNTS[data])
    nothing = np.zeros((examples, 1), np.float32)
    said = Annotations.from_labels(np.zeros(examples, np.int64), classes=2)
    split = split_of(Job(nothing, said, "mlp", training(data), 0))
    assert (len(split.train), len(split.valid)) == (train, valid)


@pytest.mark.parametrize(("noise", "share"), [("main", 0.18), ("reduced", 0.09), ("increased", 0.288), ("none", 0)])
@pytest.mark.parametrize("data", list(COUNTS))
def test_the_share_of_wrong_labels(noise: str, share: float, data: str) -> None:
    truth = torch.arange(10).repeat_interleave(torch.tensor(COUNTS[data]))
    heard = make_noise("by-class", 10, torch.Generator(), rates=RATES[noise])(
        truth, None, torch.Generator().manual_seed(0)
    )
    assert mislabelled(data, noise) == pytest.approx(float((heard.label != truth.numpy()).mean()), abs=4e-3)
    if data == "CIFAR-10":
        assert mislabelled(data, noise) == share
    assert mislabelled(data, "uniform") == 0.18


def test_rates_are_those_of_the_text() -> None:
    assert [round(100 * rate) for rate in RATES["reduced"]] == [0, 0, 0, 0, 0, 10, 15, 20, 25, 30]
    assert [round(100 * rate) for rate in RATES["increased"]] == [0, 0, 5, 15, 25, 35, 45, 55, 65, 75]


def ids(*names: str, seeds: int = 1) -> set[str]:
    """Of all runs that are due before a search has ended."""
    return {run.id for run in due([(table(name), seeds) for name in names], {})}


def test_figures_and_tables_share_their_trainings() -> None:
    for data in COUNTS:
        many = f"{data}: S = 1000"
        assert setting("table-1", FIXED, data).identity(3) == setting("figure-1", many, "τ = 1").identity(3)
        searched = setting("table-1", OURS, data).with_options(temperature=5.0)
        assert searched.identity(3) == setting("figure-1", many, "τ = 5").identity(3)
        plain = setting("figure-1", f"{data}: homoscedastic", "τ = 0.1")
        assert setting("table-1", "Homoscedastic", data).identity(3) == plain.identity(3)
    assert ids("figure-1", seeds=2) == ids("figure-6", seeds=2)
    # Three data sets: homoscedastic, 18 temperatures, 12 options of MentorNet, 2 others; 3 x 18 with fewer draws.
    assert len(ids("table-1", "figure-1")) == 3 * (1 + 18 + 12 + 2 + 3 * 18)
    assert ids("temperatures") < ids(*NOISY, "table-3")


def test_segmentations_are_shared_and_last_30_000_steps() -> None:
    assert ids("table-2", "figure-3", "figure-4") < ids("figure-2")
    for data, examples in (("PASCAL VOC", 1464), ("Cityscapes", 2975)):
        run = setting("table-2", OURS, data)
        config = run.training
        assert abs(config.epochs * (examples // config.batch_size) - 30_000) < 100
        assert (config.optimizer, config.learning_rate, config.validation) == ("sgd", 1e-3, 0)
        assert (run.options["temperature"], run.options["samples"]) == (0.05, 1000)


def test_published_temperatures_are_among_those_searched() -> None:
    full = table("temperatures")
    for each in full.cells:
        assert float(full.published[each.row, each.column, "options"].text) in each.grid["temperature"]
    assert full.published["uniform", "MNIST", "options"].text == "35"


def test_true_masks_are_said_as_they_are() -> None:
    masks = torch.tensor([[[0, 1], [-1, 2]], [[-1, -1], [-1, -1]], [[2, 2], [0, 0]]])
    said = make_noise("true-masks", 3, torch.Generator())(masks, None, torch.Generator())
    expected = Annotations.from_masks(masks.unsqueeze(1).numpy(), classes=3)
    np.testing.assert_array_equal(said.matrix(), expected.matrix())
    assert (len(said.examples), said.space, said.classes) == (3, (2, 2), (0, 1, 2))
    np.testing.assert_array_equal(said.example, [0, 2])
