from __future__ import annotations

import json
from pathlib import Path

import pytest

from truelabel.cli.run_suspects import read_suspects, suggestions
from truelabel.data.exchange import TaskWriting

HEADER = "example,annotator,label,probability_right,suggested,suggested_probability\n"
ROWS = """b.png,ann,cat,0.30,dog,0.60
a.png,ann,cat,0.90,cat,0.90
c.png,ann,cow,0.05,dog,0.80
c.png,eve,dog,0.80,dog,0.80
c.png,joe,cat,0.01,dog,0.80
"""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "label_quality.csv").write_text(HEADER + ROWS)
    source = {"data": str(tmp_path), "labels": None, "kind": "images", "text_column": None, "decisions": None}
    (folder / "source.json").write_text(json.dumps(source))
    return folder


def test_the_most_suspect_example_comes_first_and_each_once(run: Path) -> None:
    found = read_suspects(run)
    assert [(one.example, one.suggested, one.probability) for one in found] == [
        ("c.png", "dog", 0.8),
        ("b.png", "dog", 0.6),
    ]
    assert found[0].given == "ann: cow; eve: dog; joe: cat"
    assert [one.example for one in read_suspects(run, limit=1)] == ["c.png"]


def test_suggestions_choose_the_class_that_is_believed(run: Path) -> None:
    found, writing = suggestions(run, TaskWriting())
    assert [(one.example, one.score) for one in found] == [("c.png", 0.8), ("b.png", 0.6)]
    assert found[0].results == [writing.choice("c.png", "dog")]


def test_texts_come_from_the_table_of_the_run(run: Path, tmp_path: Path) -> None:
    (run / "label_quality.csv").write_text(HEADER + "1,ann,good,0.1,bad,0.7\n")
    (tmp_path / "texts.csv").write_text("id,text\n0,Fine.\n1,Awful!\n")
    source = {"data": str(tmp_path / "texts.csv"), "kind": "text", "text_column": "text"}
    (run / "source.json").write_text(json.dumps(source))
    found, writing = suggestions(run, TaskWriting())
    assert writing.data(found[0].example) == {"text": "Awful!", "example": 1}
    (run / "inputs.json").write_text(json.dumps({"id_column": "id"}))
    (tmp_path / "texts.csv").write_text("id,text\n1,First.\n0,Second.\n")
    assert suggestions(run, TaskWriting())[1].texts == {"1": "First.", "0": "Second."}
    (tmp_path / "texts.csv").unlink()
    with pytest.raises(FileNotFoundError, match="was trained on: put it back"):
        suggestions(run, TaskWriting())


def test_a_run_of_an_older_version_or_damaged_is_one_line(run: Path) -> None:
    (run / "source.json").write_text("[")
    with pytest.raises(ValueError, match=r"source.json is damaged .*: train again"):
        suggestions(run, TaskWriting())
    (run / "source.json").write_text("{}")
    with pytest.raises(ValueError, match="source.json does not say where the data are: train again"):
        suggestions(run, TaskWriting())
    (run / "source.json").unlink()
    assert len(suggestions(run, TaskWriting())[0]) == 2
    (run / "label_quality.csv").write_text("example,annotator,label,probability_right\na,b,c,0.5\n")
    with pytest.raises(ValueError, match="has no column 'suggested': train again with this version"):
        read_suspects(run)
