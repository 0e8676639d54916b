"""Drawings of numbers as inline SVG; every word in them is escaped, and every drawing says in words what it shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup

WIDTH, HEIGHT, LEFT, BELOW, MARGIN = 420, 220, 44, 28, 10

_SVG = '<svg viewBox="0 0 {width} {height}" role="img" aria-label="{label}" class="chart">{body}</svg>'
_TEXT = '<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


class Line(NamedTuple):
    """A curve: what it is called, its numbers (NaN where there is none), and the class of its colour, from 1."""

    name: str
    values: Sequence[float]
    colour: int


class Frame(NamedTuple):
    """Where numbers are drawn."""

    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: float) -> float:
        """Position from the left."""
        share = (value - self.x_low) / ((self.x_high - self.x_low) or 1)
        return round(LEFT + share * (WIDTH - LEFT - MARGIN), 1)

    def y(self, value: float) -> float:
        """Position from the top."""
        share = (value - self.y_low) / ((self.y_high - self.y_low) or 1)
        return round(HEIGHT - BELOW - share * (HEIGHT - BELOW - MARGIN), 1)


def curve_chart(lines: Sequence[Line], label: str, *, percent: bool = False) -> Markup:
    """Curves over epochs.

    Args:
        lines: what to draw, of any lengths.
        label: what the chart shows, for those who do not see it.
        percent: whether numbers are shares.

    Example:
        >>> chart = curve_chart([Line("<loss>", [1.0, 0.5], 1)], "loss falls")
        >>> "<loss>" in chart, "loss falls" in chart
        (False, True)
    """
    known = [value for line in lines for value in line.values if math.isfinite(value)]
    if not known:
        return Markup("")
    low, high = min(known), max(known)
    room = (high - low) * 0.05 or 0.05
    longest = max(len(line.values) for line in lines)
    frame = Frame(1, max(longest, 2), low - room, high + room)
    body = _axes(frame, [low, (low + high) / 2, high], percent)
    body += _text(frame.x(1), HEIGHT - 10, "epoch 1", "start") + _text(WIDTH - MARGIN, HEIGHT - 10, longest, "end")
    for line in lines:
        places = [(frame.x(i + 1), frame.y(v)) for i, v in enumerate(line.values) if math.isfinite(v)]
        path = " ".join(f"{x},{y}" for x, y in places)
        drawn = '<polyline class="line c{}" points="{}"><title>{}</title></polyline>'
        body += Markup(drawn).format(line.colour, path, line.name)
        if len(places) == 1:
            body += Markup('<circle class="dot c{}" cx="{}" cy="{}" r="3"/>').format(line.colour, *places[0])
    return _svg(label, body)


def reliability_chart(bins: Sequence[Sequence[float]], label: str) -> Markup:
    """Share right against confidence; the diagonal is what a calibrated network has.

    Args:
        bins: ``[mean confidence, share right, count]`` each.
        label: what the chart shows.
    """
    frame = Frame(0, 1, 0, 1)
    body = _axes(frame, [0, 0.5, 1], percent=True)
    body += Markup('<line class="ideal" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
        frame.x(0), frame.y(0), frame.x(1), frame.y(1)
    )
    body += _text(frame.x(0), HEIGHT - 10, "confidence 0%", "start") + _text(WIDTH - MARGIN, HEIGHT - 10, "100%", "end")
    most = max((count for _, _, count in bins), default=1) or 1
    points = " ".join(f"{frame.x(c)},{frame.y(r)}" for c, r, n in bins if n)
    body += Markup('<polyline class="line c1" points="{}"/>').format(points)
    for confidence, right, count in bins:
        if count:
            told = f"confidence {confidence:.0%}: {right:.0%} right, {int(count)} labels"
            drawn = '<circle class="dot c1" cx="{}" cy="{}" r="{}"><title>{}</title></circle>'
            radius = round(2.5 + 5 * math.sqrt(count / most), 1)
            body += Markup(drawn).format(frame.x(confidence), frame.y(right), radius, told)
    return _svg(label, body)


def skill_bar(skill: float, low: float | None, high: float | None) -> Markup:
    """A bar from 0 to 1 with its interval; what it says stands beside it in words, so it is hidden from readers."""
    bar = '<rect class="track" width="200" height="10" rx="5"/><rect class="value" width="{}" height="10" rx="5"/>'
    body = Markup(bar).format(_clip(skill))
    if low is not None and high is not None:
        whisker = '<path class="whisker" d="M{0} 1V9M{0} 5H{1}M{1} 1V9"/>'
        body += Markup(whisker).format(_clip(low), _clip(high))
    return Markup('<svg viewBox="0 0 200 10" class="bar" aria-hidden="true">{}</svg>').format(body)


def _clip(share: float) -> float:
    return round(200 * min(max(share, 0.0), 1.0), 1)


def _axes(frame: Frame, ticks: Sequence[float], percent: bool) -> Markup:
    body = Markup("")
    for tick in ticks:
        y = frame.y(tick)
        body += Markup('<line class="grid" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(LEFT, y, WIDTH - MARGIN, y)
        body += _text(LEFT - 6, y + 4, f"{tick:.0%}" if percent else f"{tick:.3g}", "end")
    return body


def _text(x: float, y: float, text: object, anchor: str) -> Markup:
    return Markup(_TEXT).format(x=x, y=y, text=text, anchor=anchor)


def _svg(label: str, body: Markup) -> Markup:
    return Markup(_SVG).format(width=WIDTH, height=HEIGHT, label=label, body=body)
