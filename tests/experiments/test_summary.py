from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scipy import stats

from truelabel.experiments.pages import cell_lines
from truelabel.experiments.setting import Setting
from truelabel.experiments.summary import Entry, summarise, to_json
from truelabel.experiments.table import ACCURACY, OPTIONS_CHOSEN, Cell, Metric, Published, Table

SCORES = {"CE": (0.70, 0.72, 0.71), "GCE": (0.80, 0.82, 0.81), "near": (0.79, 0.83, 0.805)}


@pytest.fixture
def plain(table: Table) -> Table:
    """Three methods in one column, none searched."""
    setting = table.cells[0].setting
    assert isinstance(setting, Setting)
    cells = tuple(Cell(name, "0", replace(setting, train=30 + i)) for i, name in enumerate(SCORES))
    published = {("CE", "0", "accuracy"): table.published["CE", "0", "accuracy"]}
    return replace(table, cells=cells, published=published)


def records(table: Table, **more: Any) -> dict[str, Any]:
    out = {}
    for cell in table.cells:
        for seed, score in enumerate(SCORES[cell.row]):
            run = cell.setting.identity(seed)
            out[run] = {"id": run, "seed": seed, "scores": {"accuracy": score}, **more}
    return out


def test_means_spreads_and_differences(plain: Table) -> None:
    entry = summarise(plain, records(plain))["CE", "0", "accuracy"]
    assert entry.text == "71.00 ± 1.00 (3)"
    assert entry.difference == pytest.approx(71 - 90)
    assert summarise(plain, records(plain), seeds=1)["CE", "0", "accuracy"].text == "70.00 (1)"
    assert summarise(plain, {})["CE", "0", "accuracy"].text == ""
    told = to_json(plain, summarise(plain, records(plain)))
    first = told["places"][0]
    assert (first["paper"], first["paper_mean"], first["paper_std"], first["best"]) == ("90.0±1.0", 90.0, 1.0, False)


def test_a_bootstrapped_interval_stands_beside_the_mean_where_the_paper_has_one(plain: Table) -> None:
    shaded = replace(plain, metrics=(replace(ACCURACY, spread="interval"),))
    summary = summarise(shaded, records(shaded))
    entry = summary["CE", "0", "accuracy"]
    # Of 27 resamples of 70, 71, 72 one is the lowest alone, which is more than 2.5 %.
    assert entry.text == "71.00 [70.00, 72.00] (3)"
    assert entry.interval == pytest.approx((70.0, 72.0))
    assert to_json(shaded, summary)["places"][0]["interval"] == [pytest.approx(70), pytest.approx(72)]
    one = summarise(shaded, records(shaded), seeds=1)["CE", "0", "accuracy"]
    assert (one.text, one.interval) == ("70.00 (1)", None)
    assert "interval" not in to_json(plain, summarise(plain, records(plain)))["places"][0]


def test_what_is_as_good_as_the_best_is_marked_by_welchs_test(plain: Table) -> None:
    summary = summarise(plain, records(plain))
    for name, values in SCORES.items():
        p = stats.ttest_ind(values, SCORES["GCE"], equal_var=False).pvalue
        assert summary[name, "0", "accuracy"].best == (p >= 0.05)
    assert [summary[name, "0", "accuracy"].best for name in SCORES] == [False, True, True]


def test_a_paired_test_goes_by_seed_against_the_row_named(plain: Table) -> None:
    paired = replace(plain, test="paired", against="GCE")
    summary = summarise(paired, records(paired))
    assert stats.ttest_rel(SCORES["near"], SCORES["GCE"]).pvalue > 0.05
    assert [summary[name, "0", "accuracy"].mark for name in SCORES] == ["‡", "", ""]


def test_lower_can_be_better(plain: Table) -> None:
    lower = replace(plain, metrics=(replace(ACCURACY, better="lower"),))
    assert [e.best for e in summarise(lower, records(lower)).values()] == [True, False, False]


def test_a_search_shows_what_it_chose_or_how_far_it_is_and_the_score_with_it(table: Table) -> None:
    cell = table.cells[2]
    one = replace(table, cells=(cell,), published={}, metrics=(OPTIONS_CHOSEN, ACCURACY), seeds=2)
    assert isinstance(cell.setting, Setting)
    finished: dict[str, Any] = {}

    def note(q: float, seed: int, valid: float, test: float) -> None:
        assert isinstance(cell.setting, Setting)
        run = cell.setting.with_options(q=q).identity(seed)
        scores = {"accuracy": test}
        finished[run] = {"id": run, "seed": seed, "valid": {"accuracy": valid, "loss": 1.0}, "scores": scores}

    for tried, (q, accuracy) in enumerate(((0.1, 0.5), (0.5, 0.9), (0.9, 0.7))):
        options, score = summarise(one, finished).values()
        assert options.text == (f"{tried} of 3 tried" if tried else "")
        assert score.text == ""
        note(q, 0, accuracy, q)
    note(0.5, 1, 0.1, 0.7)
    options, score = summarise(one, finished).values()
    assert options.text == "0.5"
    assert score.text == "60.00 ± 14.14 (2)"


def test_curves_show_their_quarters(plain: Table) -> None:
    curved = replace(plain, metrics=(ACCURACY.as_curve,), test=None)
    curve = [number / 100 for number in range(1, 9)]
    found = records(curved, curves={"accuracy": curve})
    alone = summarise(curved, found, seeds=1)["CE", "0", "accuracy"]
    assert alone.text == "2.00 → 4.00 → 6.00 → 8.00 (1)"
    assert alone.curve == pytest.approx([100 * value for value in curve])
    assert alone.curve_std == ()
    for record in found.values():  # as far as the shortest goes
        record["curves"] = {"accuracy": [value + record["seed"] / 100 for value in curve] + [1.0] * record["seed"]}
    summary = summarise(curved, found)
    entry = summary["CE", "0", "accuracy"]
    assert entry.text == "3.00 ± 1.00 → 5.00 ± 1.00 → 7.00 ± 1.00 → 9.00 ± 1.00 (3)"
    place = to_json(curved, summary)["places"][0]
    assert place["curve"] == pytest.approx(range(2, 10))
    assert place["curve_std"] == pytest.approx([1.0] * 8)


def test_a_run_without_such_a_number_is_told_from_none(plain: Table) -> None:
    other = replace(plain, metrics=(ACCURACY, Metric("skill", "skill")))
    ran = summarise(other, records(other))["CE", "0", "skill"]
    assert (ran.text, ran.ran, summarise(other, {})["CE", "0", "skill"].ran) == ("", True, False)
    assert cell_lines(ran, 1) == ["–"]
    assert cell_lines(summarise(other, {})["CE", "0", "skill"], 1) == ["not run"]


def test_stars_that_make_bold_are_for_pages_only() -> None:
    best = Entry("80.0 (5)", 80.0, None, 5, Published(81.23, 0.21, "**81.23 ± 0.21**"), -1.2, best=True)
    assert cell_lines(best, 1) == ["80.0 (5)", "paper 81.23 ± 0.21", "−1.2"]
    assert cell_lines(best, 1, bold=True) == ["**80.0 (5)**", "paper **81.23 ± 0.21**", "−1.2"]
