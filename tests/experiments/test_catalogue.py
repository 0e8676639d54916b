from __future__ import annotations

import json
from pathlib import Path

import pytest

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.calculations import CALCULATIONS
from truelabel.experiments.catalogue import PAPERS, find_tables
from truelabel.experiments.material import MATERIALS
from truelabel.experiments.measures import MEASURES
from truelabel.experiments.noises import NOISES
from truelabel.experiments.plan import due
from truelabel.experiments.records import Records
from truelabel.experiments.runner import reproduce, site_for
from truelabel.experiments.scale import Variation, varied_table
from truelabel.experiments.setting import Setting
from truelabel.experiments.summary import summarise
from truelabel.experiments.table import Table
from truelabel.methods import get_method
from truelabel.methods.search import combinations

TABLES = {f"{paper.name}/{table.name}": table for paper in PAPERS.values() for table in paper.tables}


@pytest.mark.parametrize("name", list(TABLES))
def test_whatever_a_table_names_is_there(name: str) -> None:
    for cell in TABLES[name].cells:
        if isinstance(cell.setting, Calculation):
            assert cell.setting.calculation in CALCULATIONS
            continue
        setting = cell.setting
        assert setting.data in MATERIALS
        assert setting.noise == "given" or setting.noise in NOISES
        assert {*setting.measures, *setting.curves} <= MEASURES.keys()
        plain = {key: value for key, value in setting.options.items() if value != "truth"}
        for options in combinations(cell.grid) if cell.grid else [{}]:
            get_method(setting.method).with_options(**plain, **options)
        if cell.grid:
            assert setting.training.validation > 0, "a search needs labels to choose by"


@pytest.mark.parametrize("name", list(TABLES))
def test_a_setting_survives_json(name: str) -> None:
    for run in due([(TABLES[name], 1)], {}):
        plain = run.setting.to_json()
        assert json.loads(json.dumps(plain)) == plain


@pytest.mark.long
@pytest.mark.parametrize("name", list(TABLES))
def test_every_table_runs_at_smoke_scale(name: str, tmp_path: Path) -> None:
    variation = Variation(scale="smoke")
    table: Table = varied_table(TABLES[name], variation)
    records = Records(tmp_path / "r.jsonl")
    report = reproduce([table], records, site_for(variation, tmp_path / "work", "cpu"), variation=variation)
    assert report.failed == 0, [record["error"] for record in records.failed().values()]
    assert (report.left, report.missing) == (0, {})
    assert report.done > 0
    assert {cell.row for cell in table.cells} == set(TABLES[name].rows)
    assert {cell.column for cell in table.cells} == set(TABLES[name].columns)
    summary = summarise(table, records.finished())
    for metric in table.metrics:
        assert any(entry.text for key, entry in summary.items() if key[2] == metric.name), f"nothing has {metric.name}"


def test_a_paper_or_one_of_its_tables_is_found() -> None:
    paper, tables = find_tables("englesson2023")
    assert tables == paper.tables
    assert [table.name for table in find_tables("englesson2023/figure-5")[1]] == ["figure-5"]
    assert [table.name for table in find_tables("englesson2023/table-[14]")[1]] == ["table-1", "table-4"]
    with pytest.raises(ValueError, match="there is no paper 'nobody': choose from"):
        find_tables("nobody/table-1")
    with pytest.raises(ValueError, match="englesson2023 has no 'table-9': choose from table-1"):
        find_tables("englesson2023/table-9")


def test_names_are_unique() -> None:
    for paper in PAPERS.values():
        names = [table.name for table in paper.tables]
        assert len(set(names)) == len(names)
    assert all(isinstance(cell.setting, Setting | Calculation) for table in TABLES.values() for cell in table.cells)
