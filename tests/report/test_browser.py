"""The page in real Chromium: opened from disk, filtered, reviewed by keyboard, exported."""

from __future__ import annotations

import csv
import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from truelabel.report import read_run, write_report
from truelabel.report.suspects import Suspect, find_suspects

from .browser import axe_source, chromium, faults, requests_of
from .conftest import CLASSES, IMAGE, SCRIPT

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def page(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(trained, tmp_path_factory.mktemp("page") / "report.html").path


@pytest.fixture(scope="module")
def suspects(trained: Path) -> list[Suspect]:
    return find_suspects(read_run(trained), 500)


@pytest.fixture
def driver(page: Path, tmp_path: Path) -> Iterator[Any]:
    with chromium(tmp_path) as driver:
        requests_of(driver)  # those of the browser's own first page
        driver.get(page.as_uri())
        yield driver
        assert [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"] == []


def press(driver: Any, *keys: str) -> None:
    from selenium.webdriver import ActionChains

    for key in keys:
        ActionChains(driver).send_keys(key).perform()


def choose(driver: Any, field: str, value: str) -> None:
    from selenium.webdriver.support.ui import Select

    Select(driver.find_element("id", field)).select_by_visible_text(value)


def texts(driver: Any, selector: str) -> list[str]:
    return [node.text for node in driver.find_elements("css selector", selector)]


def exported(driver: Any, folder: Path, *, by_mouse: bool = False) -> list[dict[str, str]]:
    file = folder / "decisions.csv"
    file.unlink(missing_ok=True)
    if by_mouse:
        driver.find_element("id", "export").click()
    else:
        press(driver, "e")
    end = time.monotonic() + 20
    while not file.exists() or not file.read_bytes():
        assert time.monotonic() < end, "nothing was downloaded"
        time.sleep(0.05)
    with file.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def expected(suspect: Suspect, decision: str, new_label: str = "") -> dict[str, str]:
    said = {"example": suspect.example, "annotator": suspect.annotator, "label": suspect.label}
    return {**said, "decision": decision, "new_label": new_label}


def test_names_are_shown_and_never_run(driver: Any, page: Path) -> None:
    from selenium.common.exceptions import NoAlertPresentException

    with pytest.raises(NoAlertPresentException):
        driver.switch_to.alert.text  # noqa: B018 - an alert would mean that a name was run
    assert SCRIPT in texts(driver, ".given, .better")
    assert any(IMAGE in text for text in texts(driver, ".person h4"))
    assert driver.execute_script("return document.querySelectorAll('img[src=x]').length") == 0
    asked = [url for url in requests_of(driver) if not url.startswith(("data:", "chrome:"))]
    assert asked == [page.as_uri()]
    blocked = "return fetch('data:text/plain,x').then(() => 'sent', () => 'blocked')"
    assert driver.execute_script(blocked) == "blocked"
    assert "Content Security Policy" in driver.get_log("browser")[0]["message"]


def test_filters_narrow_and_counts_follow(driver: Any, suspects: list[Suspect]) -> None:
    status = driver.find_element("id", "count")
    assert status.text == f"{len(suspects)} shown"
    choose(driver, "f-annotator", IMAGE)
    mine = [s for s in suspects if s.annotator == IMAGE]
    assert 0 < len(mine) < len(suspects)
    assert status.text == f"{len(mine)} of {len(suspects)} shown"
    choose(driver, "f-label", SCRIPT)
    both = [s for s in mine if s.label == SCRIPT]
    assert status.text == f"{len(both)} of {len(suspects)} shown"
    assert texts(driver, ".suspect h3") == [s.example for s in both][:24]
    driver.find_element("css selector", "#filters [type=reset]").click()
    middle = sorted(s.probability for s in suspects)[len(suspects) // 2]
    high = driver.find_element("id", "f-high")
    high.clear()
    high.send_keys(f"{100 * middle:.9f}")
    below = [s for s in suspects if s.probability <= middle + 1e-9]
    assert status.text == f"{len(below)} of {len(suspects)} shown"
    driver.find_element("css selector", "#filters [type=reset]").click()
    choose(driver, "f-sort", "most probable first")
    assert texts(driver, ".suspect h3")[0] == max(suspects, key=lambda s: s.probability).example
    driver.find_element("id", "f-find").send_keys("no such example")
    assert driver.find_element("id", "nothing").is_displayed()
    press(driver, "a", "x")  # typed into the field, and there is nothing to decide on anyway
    assert driver.find_element("id", "progress-text").text.startswith("0 of")


def test_a_review_by_keyboard_comes_out_as_decisions(
    driver: Any, page: Path, suspects: list[Suspect], tmp_path: Path
) -> None:
    from selenium.webdriver import Keys

    press(driver, "j", "a")  # the first, then it moves on
    press(driver, "x")
    press(driver, "1")
    press(driver, "d")
    press(driver, "c")
    driver.switch_to.active_element.send_keys('a "th', Keys.ENTER)
    press(driver, Keys.ARROW_RIGHT, Keys.ARROW_LEFT, "x", "u")
    assert driver.find_element("id", "progress-text").text == f"5 of {len(suspects)} decided"
    first, second, third, fourth, fifth = suspects[:5]

    def by_name(suspect: Suspect, name: str) -> dict[str, str]:
        if name == suspect.label:
            return expected(suspect, "keep")
        return expected(suspect, "accept" if name == suspect.suggested else "choose", name)

    decided = [
        expected(first, "accept", first.suggested or ""),
        expected(second, "keep"),
        by_name(third, CLASSES[0]),
        expected(fourth, "remove"),
        by_name(fifth, CLASSES[3]),
    ]
    assert exported(driver, tmp_path) == decided
    # What was decided outlives filters and the page itself, and leaves when undone.
    choose(driver, "f-state", "decided")
    assert driver.find_element("id", "count").text == f"5 of {len(suspects)} shown"
    driver.get(page.as_uri())
    assert driver.find_element("id", "progress").get_attribute("value") == "5"
    assert texts(driver, ".state")[1] == "✓ Kept as it is"
    press(driver, "u")
    driver.find_element("css selector", ".suspect [data-undo]").click()
    assert exported(driver, tmp_path) == decided[1:4]


def test_a_review_by_mouse(driver: Any, suspects: list[Suspect], tmp_path: Path) -> None:
    choose(driver, "f-state", "undecided")
    driver.find_elements("css selector", ".suspect .actions button")[0].click()
    assert texts(driver, ".suspect h3")[0] == suspects[1].example
    second = driver.find_elements("css selector", ".suspect")[0]
    second.find_elements("css selector", ".actions button")[2].click()
    options = driver.find_elements("css selector", "#choose-list button")
    assert [option.text.split(maxsplit=1)[1] for option in options] == CLASSES
    other = next(n for n, name in enumerate(CLASSES) if name not in (suspects[1].label, suspects[1].suggested))
    options[other].click()
    driver.find_element("id", "keys").click()
    assert driver.find_element("id", "help").is_displayed()
    driver.find_element("css selector", "#help button").click()
    driver.execute_script("document.getElementById('export').scrollIntoView({block: 'center'})")
    assert exported(driver, tmp_path, by_mouse=True) == [
        expected(suspects[0], "accept", suspects[0].suggested or ""),
        expected(suspects[1], "choose", CLASSES[other]),
    ]


def test_more_are_shown_on_demand_and_the_theme_is_kept(driver: Any, page: Path, suspects: list[Suspect]) -> None:
    assert len(suspects) > 24
    assert len(texts(driver, ".suspect")) == 24
    driver.find_element("id", "more").click()
    assert len(texts(driver, ".suspect")) == min(48, len(suspects))
    ground = "return getComputedStyle(document.body).backgroundColor"
    light = driver.execute_script(ground)
    driver.find_element("id", "theme").click()
    dark = driver.execute_script(ground)
    assert light != dark
    driver.get(page.as_uri())
    assert driver.execute_script(ground) == dark


@pytest.mark.parametrize("kind", ["trained", "masks_trained"])
def test_axe_finds_no_serious_fault_and_nothing_is_cut_off(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    page = write_report(request.getfixturevalue(kind), tmp_path / "report.html").path
    axe = axe_source(tmp_path)
    for width, dark in ((1280, False), (1280, True), (390, False), (390, True)):
        with chromium(tmp_path_factory.mktemp("profile"), width=width, dark=dark) as driver:
            driver.get(page.as_uri())
            assert faults(driver, axe) == [], (width, dark)
            press(driver, "?")
            assert faults(driver, axe) == [], "with the help open"
            assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth"), width


def test_a_run_without_anything_still_has_a_page_that_works(trained: Path, tmp_path: Path) -> None:
    run = shutil.copytree(trained, tmp_path / "old")
    for name in ("source.json", "quality.json", "label_quality.csv", "examples.csv", "confusion.csv", "pictures.npy"):
        (run / name).unlink()
    axe = axe_source(tmp_path)
    with chromium(tmp_path) as driver:
        driver.get(write_report(run).path.as_uri())
        assert "This run does not tell everything." in driver.find_element("id", "summary").text
        assert faults(driver, axe) == []
        assert driver.get_log("browser") == []


def test_decisions_go_back_into_training(
    driver: Any, trained: Path, suspects: list[Suspect], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import inspect
    import sys

    from truelabel.cli.main import main
    from truelabel.cli.train import train

    if "decisions" not in inspect.signature(train).parameters:
        pytest.skip("`truelabel train --decisions` is not there yet")
    for _ in range(4):
        press(driver, "a")
    assert len(exported(driver, tmp_path)) == 4
    rows = read_run(trained).labels
    assert rows is not None
    with (tmp_path / "labels.csv").open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerow(["example", "annotator", "label"])
        table.writerows(zip(rows.example, rows.annotator, rows.label, strict=True))
    out, data = tmp_path / "again", json.loads((trained / "source.json").read_text())["data"]
    words = [data, tmp_path / "labels.csv", "--out", out, "--epochs", 1, "--decisions", tmp_path / "decisions.csv"]
    monkeypatch.setattr(sys, "argv", ["truelabel", "train", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    assert not left.value.code
    again = read_run(out).labels
    assert again is not None
    said = dict(zip(zip(again.example, again.annotator, strict=True), again.label, strict=True))
    for suspect in suspects[:4]:
        assert said[suspect.example, suspect.annotator] == suspect.suggested
