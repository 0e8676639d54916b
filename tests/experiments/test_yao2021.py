from __future__ import annotations

from pathlib import Path

import pytest

from truelabel.experiments.measures import MEASURES
from truelabel.experiments.noises import NOISES
from truelabel.experiments.records import Records
from truelabel.experiments.runner import reproduce, site_for
from truelabel.experiments.scale import Variation, varied_table
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Cell, Table
from truelabel.experiments.yao2021 import AS_CODED, PAPER
from truelabel.methods import get_method
from truelabel.training import TrainingConfig

TABLES = {table.name: table for table in PAPER.tables}


def cell(table: str, row: str, column: str) -> Cell:
    (found,) = (cell for cell in TABLES[table].cells if (cell.row, cell.column) == (row, column))
    return found


def setting(table: str, row: str, column: str) -> Setting:
    found = cell(table, row, column).setting
    assert isinstance(found, Setting)
    return found


def settings_of(table: Table) -> list[Setting]:
    return [cell.setting for cell in table.cells if isinstance(cell.setting, Setting)]


def test_every_table_and_the_one_figure_with_a_measurement_is_there() -> None:
    assert {name: len(table.cells) for name, table in TABLES.items()} == {
        "table-1": 50,
        "table-2": 50,
        "table-3": 50,
        "table-4": 50,
        "table-5": 8,
        "figure-2": 5,
    }


@pytest.mark.parametrize(
    ("table", "row", "column", "mean", "std"),
    [
        ("table-1", "CE", "IDN-20%", 88.54, 0.32),
        ("table-1", "T-Revision", "IDN-20%", 91.58, 0.31),
        ("table-1", "Forward", "IDN-50%", 58.23, 3.14),
        ("table-1", "CausalNL", "IDN-45%", 88.75, 0.81),
        ("table-2", "MentorNet", "IDN-20%", 94.08, 0.12),
        ("table-2", "Reweight", "IDN-40%", 91.31, 0.67),
        ("table-2", "CausalNL", "IDN-50%", 85.41, 2.95),
        ("table-3", "Decoupling", "IDN-40%", 61.73, 0.34),
        ("table-3", "Mixup", "IDN-30%", 70.02, 0.31),
        ("table-3", "CausalNL", "IDN-45%", 78.60, 1.06),
        ("table-4", "Co-teaching", "IDN-45%", 25.60, 0.93),
        ("table-4", "CausalNL", "IDN-50%", 32.129, 2.23),
        ("table-5", "Decoupling", "Clothing1M", 54.53, None),
        ("table-5", "CausalNL", "Clothing1M", 72.24, None),
    ],
)
def test_numbers_are_those_of_the_paper(table: str, row: str, column: str, mean: float, std: float | None) -> None:
    published = TABLES[table].published[row, column, "accuracy"]
    assert (published.mean, published.std) == (mean, std)


def test_every_place_of_a_table_has_a_number_and_the_figure_none() -> None:
    for name, table in TABLES.items():
        places = {(cell.row, cell.column, "accuracy") for cell in table.cells}
        assert set(table.published) == (set() if name == "figure-2" else places)


@pytest.mark.parametrize(
    ("table", "data", "network"),
    [
        ("table-1", "fashion-mnist", "resnet-18-imagenet"),
        ("table-2", "svhn", "resnet-34-imagenet"),
        ("table-3", "cifar10", "resnet-34-imagenet"),
        ("table-4", "cifar100", "resnet-50-imagenet"),
    ],
)
def test_the_protocol_is_that_of_section_4(table: str, data: str, network: str) -> None:
    rates = {"IDN-20%": 0.2, "IDN-30%": 0.3, "IDN-40%": 0.4, "IDN-45%": 0.45, "IDN-50%": 0.5}
    anchored = {"forward", "reweight", "t-revision"}
    assert TABLES[table].seeds == 5
    for place in TABLES[table].cells:
        run = place.setting
        assert isinstance(run, Setting)
        assert (run.data, run.network, run.noise) == (data, network, "by-instance")
        assert run.noise_options == {"rate": rates[place.column]}
        assert (run.average, run.measures, run.train, run.test) == (10, ("accuracy",), None, None)
        assert run.training == TrainingConfig(
            epochs=150,
            batch_size=128,
            optimizer="adam",
            learning_rate=1e-3,
            schedule="constant",
            validation=0.1 if run.method in anchored else 0,
            select="last",
            augment=("crop", "flip"),
        )
        told = {"co-teaching", "mentornet", "causal-nl"}
        assert run.options.get("noise_rate") == (rates[place.column] if run.method in told else None)


def test_clothing1m_is_forgotten_at_the_rate_of_the_code_and_not_augmented() -> None:
    for run in settings_of(TABLES["table-5"]):
        assert (run.data, run.noise, run.network, run.average) == ("clothing1m", "given", "resnet-50-imagenet", 10)
        assert (run.training.epochs, run.training.batch_size, run.training.augment) == (40, 16, ())
    assert setting("table-5", "Co-teaching", "Clothing1M").options == {"noise_rate": 0.4}
    assert "Mixup" not in TABLES["table-5"].rows


def test_the_latent_vector_has_the_dimensions_of_the_paper() -> None:
    for name, column, dimensions in (("table-1", "IDN-20%", 25), ("table-4", "IDN-50%", 25)):
        assert setting(name, "CausalNL", column).options["latent"] == dimensions
    assert setting("table-5", "CausalNL", "Clothing1M").options["latent"] == 100
    for row in ("CausalNL", "CausalNL, weights of the tables"):
        assert setting("figure-2", row, "IDN-45%").options["latent"] == 1


def test_who_needs_the_noise_rate_of_the_moons_is_told_it() -> None:
    told = {row: setting("figure-2", row, "IDN-45%").options.get("noise_rate") for row in TABLES["figure-2"].rows}
    assert told == {
        "cross entropy": None,
        "co-teaching": 0.45,
        "mixup": None,
        "CausalNL": 0.45,
        "CausalNL, weights of the tables": 0.45,
    }


def test_other_weights_of_causal_nl_are_those_of_appendix_b() -> None:
    method = get_method("causal-nl").with_options(**setting("table-1", "CausalNL", "IDN-30%").options)
    options = method.options()
    weights = ("reconstruction_weight", "label_weight", "entropy_weight", "latent_weight", "reconstruction", "ramp")
    assert [options[name] for name in weights] == [0.1, 0.1, 1e-5, 0.01, "absolute", 10]


def test_anchor_points_are_sought_as_in_the_code_of_t_revision() -> None:
    assert setting("table-3", "T-Revision", "IDN-20%").options == {"warm_up": 20, "quantile": 0.97}
    assert setting("table-4", "Forward", "IDN-20%").options == {"warm_up": 15, "quantile": None}


def test_every_setting_names_what_exists() -> None:
    for table in PAPER.tables:
        for run in settings_of(table):
            get_method(run.method).with_options(**run.options)
            assert set(run.measures) <= set(MEASURES)
            assert run.noise == "given" or run.noise in NOISES


def test_no_two_places_share_a_run() -> None:
    ids = [run.identity(0) for table in PAPER.tables for run in settings_of(table)]
    assert len(ids) == len(set(ids)) == 213


def test_the_figure_runs_at_smoke_scale(tmp_path: Path) -> None:
    variation = Variation(scale="smoke")
    report = reproduce(
        [varied_table(TABLES["figure-2"], variation)],
        Records(tmp_path / "results.jsonl"),
        site_for(variation, tmp_path, "cpu"),
        variation=variation,
    )
    assert (report.done, report.failed, report.left) == (5, 0, 0)
    scores = [record["scores"] for record in Records(tmp_path / "results.jsonl").read()]
    assert ["transition_error" in given for given in scores] == [False, False, False, True, True]


def test_the_row_as_coded_has_the_weights_that_the_code_comes_to() -> None:
    """Its losses: CE(kept).mean() / kept; squared error; 0.01 times twice the KL, summed over 128 pictures."""
    ours, coded = setting("table-1", "CausalNL", "IDN-50%"), setting("table-1", AS_CODED, "IDN-50%")
    assert coded.options["teaching_weight"] == pytest.approx(1 / 64)
    assert coded.options["latent_weight"] == pytest.approx(2.56)
    assert (coded.options["reconstruction"], coded.options["entropy_weight"]) == ("squared", 0.0)
    assert {**coded.options, **ours.options}.keys() == coded.options.keys()
    assert setting("table-1", AS_CODED, "IDN-45%").options["teaching_weight"] == pytest.approx(1 / 70)
    assert TABLES["table-1"].published[AS_CODED, "IDN-50%", "accuracy"].mean == 78.19
    get_method(coded.method).with_options(**coded.options)
