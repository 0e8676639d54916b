from __future__ import annotations

import itertools

import pytest
import torch

from truelabel.corruption import MaskReaders
from truelabel.experiments.calculation import Calculation
from truelabel.experiments.catalogue import find_tables
from truelabel.experiments.noises import make_noise
from truelabel.experiments.plan import due
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Cell, Table
from truelabel.experiments.zhang2020 import PAPER, TABLES, TRACES
from truelabel.metrics import dice


def table(name: str) -> Table:
    return find_tables(f"zhang2020/{name}")[1][0]


def cell(name: str, row: str, column: str) -> Cell:
    (found,) = (cell for cell in table(name).cells if (cell.row, cell.column) == (row, column))
    return found


def setting(name: str, row: str, column: str) -> Setting:
    found = cell(name, row, column).setting
    assert isinstance(found, Setting)
    return found


def test_all_tables_and_figures_are_there() -> None:
    names = {each.name for each in PAPER.tables}
    assert {f"table-{n}" for n in range(1, 7)} <= names
    assert {f"figure-{n}" for n in (2, 3, "4a", "4b", "4c", "4d", 5, 6, 7, 8)} <= names


@pytest.mark.parametrize(
    ("name", "row", "column", "metric", "mean", "std"),
    [
        ("table-1", "Naive CNN on mean labels", "MNIST", "dice", 38.36, 0.41),
        ("table-1", "Ours", "MSLesion", "confusion_rmse", 0.0811, 0.0024),
        ("table-1", "Separate CNNs on annotators", "MSLesion", "dice", 46.84, 1.24),
        ("table-2", "Naive CNN on mean & mode labels", "MSLesion", "dice", 27.41, 1.45),
        ("table-2", "Spatial STAPLE", "MNIST", "confusion_rmse", 0.2384, 0.0061),
        ("table-3", "Probabilistic U-net", "BraTS", "energy_dice", 3.23, 0.07),
        ("table-3", "Ours", "LIDC-IDRI", "energy_dice", 1.87, 0.04),
        ("table-4", "Oracle (Ours but with known CMs)", "BraTS", "dice", 67.13, 0.14),
        ("table-4", "STAPLE", "LIDC-IDRI", "confusion_rmse", 0.0832, 0.0043),
        ("table-5", "Ours without Trace", "BraTS", "confusion_rmse", 0.1825, 0.0724),
        ("table-5", "Spatial STAPLE", "LIDC-IDRI", "dice", 62.35, 0.64),
        ("table-6", "rank 1", "BraTS", "dice", 50.56, 2.00),
        ("table-6", "Default", "BraTS", "memory_gb", 2.68, None),
    ],
)
def test_published_numbers(name: str, row: str, column: str, metric: str, mean: float, std: float | None) -> None:
    number = table(name).published[row, column, metric]
    assert (number.mean, number.std) == (mean, std)


def test_methods_without_matrices_have_no_published_error() -> None:
    for name in ("table-1", "table-4"):
        for row, _, metric in table(name).published:
            assert metric == "dice" or not row.startswith(("Naive", "Probabilistic", "Separate"))
    assert len(table("table-1").published) == 2 * (9 + 5)


def test_the_protocol_of_digits() -> None:
    run = setting("table-1", "Ours", "MNIST")
    assert (run.data, run.noise, run.noise_options, run.network) == (
        "mnist-segmentation",
        "digit-readers",
        {},
        "unet:16",
    )
    assert (run.train, run.test, run.data_options) == (60_000, 10_000, {})
    config = run.training
    assert (config.optimizer, config.learning_rate, config.batch_size, config.epochs) == ("adam", 1e-3, 32, 40)
    assert (config.schedule, config.validation, config.select, config.augment) == ("constant", 0.2, "last", ())
    assert setting("table-1", "Ours", "MNIST, noisy pictures").data_options == {"noise": 0.3}
    assert setting("table-2", "STAPLE", "MNIST").noise_options == {"labels": 1}


@pytest.mark.parametrize(
    ("column", "data", "noise", "train", "validate", "test"),
    [("BraTS", "brats2019", "tumour-readers", 1600, 300, 500), ("LIDC-IDRI", "lidc", "given", 5000, 1000, 1000)],
)
def test_the_parts_of_scans(column: str, data: str, noise: str, train: int, validate: int, test: int) -> None:
    run = setting("table-4", "STAPLE", column)
    assert (run.data, run.noise, run.network, run.train, run.test) == (data, noise, "unet:32", train + validate, test)
    # As the training takes them out.
    assert int(run.training.validation * (train + validate)) == validate
    assert run.training.batch_size == 2


def test_the_probabilistic_unet_is_trained_as_published() -> None:
    config = setting("table-4", "Probabilistic U-net", "BraTS").training
    assert (config.epochs, config.batch_size, config.learning_rate, config.weight_decay) == (80, 20, 1e-4, 1e-5)
    assert config.validation == setting("table-4", "Ours", "BraTS").training.validation


def test_noisy_validation_masks_choose_the_weight_of_the_trace() -> None:
    for name, row, column in (
        ("table-1", "Ours", "MNIST"),
        ("table-5", "Ours", "BraTS"),
        ("table-6", "rank 1", "BraTS"),
    ):
        searched = cell(name, row, column)
        assert searched.grid == {"trace": (0.001, 0.01, 0.1, 0.4, 0.7, 0.9)}
        assert searched.chosen_by == "likelihood"
    assert not cell("table-1", "Ours without Trace", "MNIST").grid
    assert setting("table-1", "Ours without Trace", "MNIST").options == {"trace": 0}


def runs(name: str) -> set[str]:
    return {run.id for run in due([(table(name), 1)], {})}


def test_no_training_is_run_twice() -> None:
    # Curves are those of the searches.
    assert len(runs("table-1")) == 3 * (9 - 1 + len(TRACES))
    assert runs("figure-3") < runs("table-1")
    for part, whole in (
        ("figure-2", "table-1"),
        ("figure-5", "table-1"),
        ("figure-6", "table-4"),
        ("figure-7", "table-4"),
    ):
        assert runs(part) < runs(whole)
    assert runs("figure-7-appendix") < runs("table-1") | runs("table-2")
    assert runs("figure-8") < runs("table-4") | runs("table-5")
    assert runs("table-3") < runs("table-1") | runs("table-4")
    assert len(runs("table-6") - runs("table-4")) == len(TRACES)
    full = [run for run in due([(each, 1) for each in TABLES], {}) if isinstance(run.setting, Setting)]
    # What no table has: four other strengths of readers, under which Ours is searched as well.
    new = {panel: runs(f"figure-4{panel}") - runs("table-1") - runs("table-2") for panel in "abcd"}
    assert {panel: len(ids) for panel, ids in new.items()} == {"a": 4 * 12, "b": 4 * 10, "c": 4 * 12, "d": 4 * 10}
    tables = set().union(*(runs(f"table-{n}") for n in range(1, 7)))
    assert {run.id for run in full} == tables.union(*new.values())


def test_readers_of_the_tables_are_one_point_of_the_figure() -> None:
    places = itertools.product(("MNIST", "MSLesion"), ("table-1", "table-2"))
    for panel, (data, name) in zip("abcd", places, strict=True):
        ours = setting(f"figure-4{panel}", "Ours", "× 1")
        assert ours.identity(0) == setting(name, "Ours", data).identity(0)
    assert setting("figure-4a", "Ours", "× 0.5").noise_options == {"over": 0.5, "under": 0.35, "fractures": 1.5}


@pytest.mark.parametrize(("noise", "amounts"), [("digit-readers", "figure-4a"), ("lesion-readers", "figure-4c")])
def test_readers_err_more_from_point_to_point(noise: str, amounts: str) -> None:
    masks = torch.zeros(8, 28, 28, dtype=torch.long)
    for i, mask in enumerate(masks):
        mask[3 : 16 + i, 8:13], mask[3:7, 8 : 20 + i % 4] = 1, 1
    means = []
    for column in table(amounts).columns:
        run = setting(amounts, "STAPLE", column)
        assert run.noise == noise
        said = make_noise(noise, 2, torch.Generator(), **run.noise_options)(
            masks, None, torch.Generator().manual_seed(0)
        ).matrix()
        means.append(float(dice(said.reshape(-1, 28, 28), masks.repeat_interleave(5, 0)).mean()))
    assert means == sorted(means, reverse=True)
    # The good reader draws the truth and the blank one nothing, however strong.
    assert 0.8 > means[0] > means[-1] > 0.2


def test_lesion_readers_by_default_are_those_of_the_paper() -> None:
    volume = torch.zeros(1, 12, 12, 12, dtype=torch.long)
    volume[:, 3:9, 3:9, 3:9] = 1
    readers = make_noise("lesion-readers", 2, torch.Generator())
    assert isinstance(readers, MaskReaders)
    drawn = readers(volume, None, torch.Generator().manual_seed(0)).matrix()[0]
    # A cube of 6 voxels a side: one layer more on its faces, two layers less all round, 100 missed twice of 216.
    assert drawn.reshape(5, -1).sum(-1).tolist() == [216, 216 + 6 * 36, 2**3, 216 - 116, 0]


def test_the_formulas_of_the_appendix_are_calculated() -> None:
    assert all(isinstance(each.setting, Calculation) for each in table("section-a4").cells)
