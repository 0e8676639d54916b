from __future__ import annotations

import re
from pathlib import Path

import pytest

from truelabel.experiments.catalogue import PAPERS
from truelabel.experiments.pages import page, variations
from truelabel.experiments.records import Records
from truelabel.experiments.runner import reproduce
from truelabel.experiments.scale import Variation
from truelabel.experiments.table import Paper, Table
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
