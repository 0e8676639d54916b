from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from truelabel.experiments.calculation import Calculation
from truelabel.experiments.catalogue import PAPERS
from truelabel.experiments.pages import page, variations
from truelabel.experiments.plan import narrowed
from truelabel.experiments.records import Records
from truelabel.experiments.runner import reproduce
from truelabel.experiments.scale import Variation, varied_table
from truelabel.experiments.setting import Setting
from truelabel.experiments.table import Cell, Metric, Paper, Table
from truelabel.experiments.work import Site

ROOT = Path(__file__).parents[2]


def test_a_page_has_ours_the_papers_and_the_difference(table: Table, site: Site, tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    paper = Paper("tiny", "Nobody 2000", (table,))
    empty = page(paper, records.read())
    assert "## Not run yet" in empty
    assert "| `tiny/table-1` | a tiny table | 12 |" in empty
    reproduce([table], records, site, variation=Variation(scale="paper"))
    text = page(paper, records.read())
    assert re.search(r"\*\*paper scale\*\*, on cpu, [^;]*, torch [^;]*; complete\.", text)
    assert "| | 0 | 0.2 |" in text
    ours = [line for line in text.splitlines() if line.startswith("| CE |")]
    assert len(ours) == 1
    assert ours[0].count("<br>") == 4
    assert "<br>paper 90.0±1.0<br>" in ours[0]
    assert "Not run yet" not in text


def test_smoke_tests_show_nothing() -> None:
    records = [{"id": "a", "variation": {"scale": "smoke"}}, {"id": "b", "variation": {"scale": "paper", "epochs": 3}}]
    assert variations(records) == [Variation(scale="paper", epochs=3)]


@pytest.mark.parametrize("name", list(PAPERS))
def test_the_pages_of_the_documentation_are_what_the_records_say(name: str) -> None:
    records = Records(ROOT / "results" / f"{name}.jsonl").read()
    there = (ROOT / "docs" / "tables" / f"{name}.md").read_text(encoding="utf-8")
    assert there == page(PAPERS[name], records), "run make tables"


def parts(text: str) -> dict[str, str]:
    """The parts of a page by what was run."""
    _, *found = re.split(r"^\*\*(.*? scale.*?)\*\*", text, flags=re.M)
    return dict(zip(found[::2], found[1::2], strict=True))


def test_what_a_part_of_a_grid_chose_is_shown_apart(table: Table, site: Site, tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    other = replace(table, name="other", cells=table.cells[:2], published={})
    paper = Paper("tiny", "Nobody 2000", (table, other))
    variation = Variation(grid=(("q", (0.1, 0.9)),))
    report = reproduce([varied_table(table, variation)], records, site, variation=variation)
    assert report.done == 6 + 2 * (2 + 2)
    assert all(record["variation"] == variation.to_json() for record in records.read())
    first, second = page(paper, records.read()).split("## other")
    # Rows without a grid are the paper's protocol, and nothing else of what was run is.
    found = parts(first)
    assert list(found) == ["paper scale", "paper scale, q among 0.1, 0.9"]
    assert "2 runs are missing" in found["paper scale"]
    assert "| CE | " in found["paper scale"]
    assert "| GCE | " not in found["paper scale"]
    assert "complete" in found["paper scale, q among 0.1, 0.9"]
    assert "| GCE | " in found["paper scale, q among 0.1, 0.9"]
    # A table without the grid is shown once, as the paper's.
    assert list(parts(second)) == ["paper scale"]
    assert "complete" in second
    # The whole grid repeats nothing: two values' seed is there, the third is new, and what it chooses.
    more = reproduce([table], records, site)
    assert 2 <= more.done <= 6
    found = parts(page(paper, records.read()).split("## other")[0])
    assert list(found) == ["paper scale", "paper scale, q among 0.1, 0.9"]
    assert all("complete" in part and "| GCE | " in part for part in found.values())


def test_a_part_of_a_grid_of_which_nothing_was_run_is_not_shown(table: Table, site: Site, tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    variation = Variation(grid=(("q", (0.1,)),))
    reproduce([varied_table(narrowed(table, ["CE"]), variation)], records, site, variation=variation)
    assert list(parts(page(Paper("tiny", "Nobody 2000", (table,)), records.read()))) == ["paper scale"]


def test_values_that_were_stated_for_one_table_need_not_fit_another(table: Table, site: Site, tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    cells = tuple(replace(cell, grid={"q": (0.3,)}) for cell in table.cells[2:])
    other = replace(table, name="other", cells=cells, published={})
    variation = Variation(grid=(("q", (0.1,)),))
    reproduce([varied_table(table, variation)], records, site, variation=variation)
    text = page(Paper("tiny", "Nobody 2000", (table, other)), records.read())
    assert list(parts(text)) == ["paper scale", "paper scale, q among 0.1"]
    assert "| `tiny/other` |" in text.split("## Not run yet")[1]


def test_metrics_without_any_number_have_no_table(table: Table, site: Site, tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    skilled = replace(table, metrics=(*table.metrics, Metric("skill", "mean skill")))
    reproduce([skilled], records, site)
    text = page(Paper("tiny", "Nobody 2000", (skilled,)), records.read())
    assert "*test accuracy, %*" in text
    assert "mean skill" not in text


def test_what_a_variation_does_not_change_is_shown_once(table: Table, site: Site, tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    options = {"scale": 0.5, "residual": 1.0}
    calculated = Cell("λ = 0.5", "r = 1", Calculation(calculation="attenuated-loss", options=options))
    other = Table(name="other", title="calculated", cells=(calculated,), metrics=(Metric("loss", "loss"),))
    shorter = Variation(epochs=1)
    reproduce([other], records, site)
    reproduce([varied_table(narrowed(table, ["CE"]), shorter)], records, site, variation=shorter)
    first, second = page(Paper("tiny", "Nobody 2000", (table, other)), records.read()).split("## other")
    assert list(parts(first)) == ["paper scale, 1 epochs"]
    assert list(parts(second)) == ["paper scale"]


def test_what_has_no_adam_is_not_told_as_of_another_epsilon(table: Table, site: Site, tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    plain, *others = table.cells
    assert isinstance(plain.setting, Setting)
    sgd = replace(plain.setting, training=replace(plain.setting.training, optimizer="sgd"))
    mixed = replace(table, cells=(replace(plain, setting=sgd), *others))
    paper, other = Paper("tiny", "Nobody 2000", (mixed,)), Variation(epsilon=1e-7)
    reproduce([narrowed(varied_table(mixed, other), [plain.row], [plain.column])], records, site, variation=other)
    assert list(parts(page(paper, records.read()))) == ["paper scale"]
    reproduce([narrowed(varied_table(mixed, other), [plain.row])], records, site, variation=other)
    assert list(parts(page(paper, records.read()))) == ["paper scale", "paper scale, Adam's ε 1e-07"]


def test_rows_and_columns_of_which_nothing_was_run_are_left_out(table: Table, site: Site, tmp_path: Path) -> None:
    records = Records(tmp_path / "r.jsonl")
    reproduce([narrowed(table, ["CE"], ["0.2"])], records, site)
    text = page(Paper("tiny", "Nobody 2000", (table,)), records.read())
    assert "| | 0.2 |" in text
    assert [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")][1:] == ["CE"]
