"""The page as text; what it does is tested in a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from truelabel.report import read_run, render_report, write_report
from truelabel.report.label_rows import LabelRows
from truelabel.report.page import json_for_html
from truelabel.report.run_tables import Person
from truelabel.training import RunFolderError

from .conftest import IMAGE, SCRIPT


class Elements(HTMLParser):
    """Every element with its attributes, the text outside of scripts, and the text of each script and style."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text, self.inside = "", ""
        self.code: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.inside = tag if tag in ("script", "style") else ""
        if self.inside:
            self.code.append((tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.code[-1] = (self.inside, self.code[-1][1] + data)
        else:
            self.text += data


@pytest.fixture(scope="module")
def page(trained: Path) -> Elements:
    return Elements(render_report(read_run(trained)))


def embedded(page: Elements) -> Any:
    return json.loads(next(text for tag, text in page.code if tag == "script" and text.startswith("{")))


def test_it_loads_nothing_and_says_so_to_the_browser(page: Elements) -> None:
    for _, attributes in page.found:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            value = attributes.get(name) or "#"
            assert value.startswith(("#", "data:image/")), value
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    assert {tag for tag, _ in page.found}.isdisjoint({"link", "iframe", "object", "embed", "base"})
    policy = next(a["content"] for _, a in page.found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:;")
    style, _, script = (text for _, text in page.code)
    for kind, code in (("style", style), ("script", script)):
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy


def test_names_are_text(page: Elements) -> None:
    assert SCRIPT in page.text
    assert IMAGE in page.text
    assert [tag for tag, _ in page.found].count("script") == 2
    assert all(a.get("src", "data:") != "x" for tag, a in page.found if tag == "img")
    data = embedded(page)
    assert SCRIPT in data["classes"]
    assert IMAGE in {item["annotator"] for item in data["suspects"]}


@pytest.mark.parametrize("text", ["</script><script>alert(1)</script>", "<!--<script>", "a\u2028b&amp;", "</SCRIPT >"])
def test_json_cannot_leave_its_element(text: str) -> None:
    written = str(json_for_html({text: [text]}))
    assert not set("<>&\u2028") & set(written)
    assert json.loads(written) == {text: [text]}


def test_every_section_is_there(page: Elements) -> None:
    sections = [attributes["id"] for tag, attributes in page.found if tag == "section"]
    assert sections == ["summary", "suspects", "annotators", "classes", "data", "model"]
    for words in ("Look at this first", "Fleiss’ kappa", "Who behaves alike", "Calibration", "the mean gap is 5.6%"):
        assert words in page.text
    assert "This run does not tell everything" not in page.text
    ids = [attributes["id"] for _, attributes in page.found if "id" in attributes]
    assert len(ids) == len(set(ids))


def test_matrices_are_tables_with_heads(page: Elements, trained: Path) -> None:
    run = read_run(trained)
    assert run.confusion is not None
    shown = re.findall(r'<td class="h(\d+)(?: own)?">(\d+)</td>', render_report(run))
    order = np.argsort([person.skill for person in run.people])
    cells = run.confusion[order].ravel()
    assert [int(number) for _, number in shown] == [round(100 * cell) for cell in cells.tolist()]
    assert [int(shade) for shade, _ in shown] == [round(10 * cell) for cell in cells.tolist()]


def test_an_old_run_gives_a_page_that_says_how_to_get_more(run: Path) -> None:
    for name in ("source.json", "quality.json", "label_quality.csv", "examples.csv", "confusion.csv", "pictures.npy"):
        (run / name).unlink()
    page = Elements(render_report(read_run(run)))
    assert "This run does not tell everything." in page.text
    assert page.text.count("--folds 5") == 3
    assert "nothing to review" in page.text
    (run / "annotators.csv").unlink()
    assert "does not say who labelled" in Elements(render_report(read_run(run))).text


def test_a_clean_run_has_nothing_in_doubt(trained: Path) -> None:
    run = read_run(trained)
    assert run.labels is not None
    page = Elements(render_report(replace(run, labels=replace(run.labels, suggested=run.labels.label))))
    assert "No label is in doubt." in page.text
    assert embedded(page)["suspects"] == []


def test_classes_that_cannot_be_told_are_named(trained: Path) -> None:
    swap = np.tile(np.eye(4)[[1, 0, 2, 3]], (4, 1, 1))
    text = Elements(render_report(replace(read_run(trained), confusion=swap))).text
    assert f"Not identifiable: zero, {SCRIPT}." in text


def test_masks_have_maps(masks_trained: Path) -> None:
    page = Elements(render_report(read_run(masks_trained)))
    assert "Where readers err" in page.text
    assert "Where the network is unsure" in page.text
    alternatives = [a["alt"] for tag, a in page.found if tag == "img"]
    assert "Map of where bob draws too much" in alternatives
    assert "Variance of the answer on p1" in alternatives


def test_a_large_run_stays_small(trained: Path) -> None:
    """Five thousand annotators, a hundred classes, a hundred thousand labels in doubt."""
    rng, size = np.random.default_rng(0), 100_000
    names = np.array([f"example-{n}" for n in range(size)], object)
    classes = [f"class {n}" for n in range(100)]
    label = rng.integers(0, 100, size)
    rows = LabelRows(
        names,
        np.array([f"worker-{n}" for n in rng.integers(0, 5000, size)], object),
        np.array(classes, object)[label],
        rng.random(size),
        np.array(classes, object)[(label + 1) % 100],
        rng.random(size),
    )
    people = [Person(f"worker-{n}", 20, float(rng.random()), 0.1, 0.9) for n in range(5000)]
    run = replace(read_run(trained), people=people, classes=classes, labels=rows, examples=list(names), confusion=None)
    page = render_report(run)
    assert len(page.encode()) < 2_000_000
    assert "The 500 labels of 100,000" in " ".join(Elements(page).text.split())


def test_the_file_appears_where_it_is_wanted(run: Path, tmp_path: Path) -> None:
    written = write_report(run)
    assert written.path == run / "report.html"
    assert written.suspects == written.suspected == written.pictures > 0
    assert written.notes == ()
    other = write_report(run, tmp_path / "new" / "a.html", top=5, thumbnails=2)
    assert (other.suspects, other.path.exists()) == (5, True)
    assert 0 < other.pictures < 5
    assert list((tmp_path / "new").iterdir()) == [other.path]


@pytest.mark.parametrize(
    ("out", "options", "message"),
    [
        ("a.txt", {}, "must end in .html"),
        (".", {}, "is a folder"),
        ("a.html", {"top": -1}, "top must be a whole number of at least 0"),
        ("a.html", {"thumbnails": 1.5}, "thumbnails must be a whole number"),
    ],
)
def test_bad_arguments_are_refused(out: str, options: dict[str, Any], message: str, run: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        write_report(run, tmp_path / out, **options)
    with pytest.raises(RunFolderError, match="no run folder"):
        write_report(tmp_path / "none")
