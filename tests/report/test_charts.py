"""Drawings of numbers."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from truelabel.report.charts import HEIGHT, LEFT, MARGIN, WIDTH, Line, curve_chart, reliability_chart, skill_bar

from .conftest import SCRIPT


def points(svg: str) -> list[tuple[float, float]]:
    line = ElementTree.fromstring(svg).find("polyline")
    assert line is not None
    return [(float(x), float(y)) for x, y in (pair.split(",") for pair in line.attrib["points"].split())]


def test_curves_lie_in_the_frame_in_order() -> None:
    drawn = points(curve_chart([Line("loss", [3.0, math.nan, 1.0, 2.0], 1)], "loss"))
    assert [x for x, _ in drawn] == [
        LEFT,
        pytest.approx(LEFT + 2 / 3 * (WIDTH - LEFT - MARGIN), abs=0.1),
        WIDTH - MARGIN,
    ]
    heights = [y for _, y in drawn]
    assert heights[0] < heights[2] < heights[1] < HEIGHT  # down the page is less
    assert heights[0] > 0


def test_words_are_escaped_and_the_drawing_says_what_it_shows() -> None:
    svg = curve_chart([Line(SCRIPT, [1.0], 2)], SCRIPT, percent=True)
    assert "<script" not in svg
    tree = ElementTree.fromstring(svg)
    assert tree.attrib["aria-label"] == SCRIPT
    assert tree.attrib["role"] == "img"
    assert "100%" in [text.text for text in tree.iter("text")]
    assert tree.find("circle") is not None


def test_nothing_to_draw_is_nothing() -> None:
    assert curve_chart([], "x") == ""
    assert curve_chart([Line("a", [math.nan], 1)], "x") == ""


def test_calibrated_bins_lie_on_the_diagonal() -> None:
    svg = reliability_chart([[0.0, 0.0, 5], [0.5, 0.5, 20], [0.7, 0.1, 0], [1.0, 1.0, 80]], "calibration")
    tree = ElementTree.fromstring(svg)
    ideal = next(line for line in tree.iter("line") if line.attrib["class"] == "ideal")
    (x1, y1), middle, (x2, y2) = points(svg)
    assert (str(x1), str(y1), str(x2), str(y2)) == tuple(ideal.attrib[name] for name in ("x1", "y1", "x2", "y2"))
    assert list(middle) == pytest.approx([(x1 + x2) / 2, (y1 + y2) / 2], abs=0.1)
    radii = [float(dot.attrib["r"]) for dot in tree.iter("circle")]
    assert radii == [3.8, 5.0, 7.5]  # area beyond the least grows with the labels; an empty bin has no dot


def test_bars_stay_in_their_track() -> None:
    svg = ElementTree.fromstring(skill_bar(0.25, 0.1, 1.2))
    _, value = svg.findall("rect")
    assert value.attrib["width"] == "50.0"
    whisker = svg.find("path")
    assert whisker is not None
    assert whisker.attrib["d"] == "M20.0 1V9M20.0 5H200.0M200.0 1V9"
    assert ElementTree.fromstring(skill_bar(0.25, None, None)).find("path") is None
