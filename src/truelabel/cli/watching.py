"""What is under way, told where somebody may wait for it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import typer

if TYPE_CHECKING:
    from truelabel.experiments.runner import UnderWay

LOG_EVERY = 300.0
"""Seconds from one line of a log to the next at least."""


class Watcher(NamedTuple):
    """Where lines go while something is under way.

    Attributes:
        say: a line that stays.
        watch: what is under way.
    """

    say: Callable[[str], None]
    watch: Callable[[UnderWay], None]


@contextmanager
def watching() -> Iterator[Watcher]:
    """On standard error: in a terminal a line below the others that changes, elsewhere one more every five minutes."""
    if not sys.stderr.isatty():
        yield _log()
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    if console.is_dumb_terminal or console.width < 1:
        yield _log()
        return
    with Live(console=console, transient=True) as live:

        def say(line: str) -> None:
            # Not typer.echo, which would write behind the line that changes.
            console.print(Text(line), soft_wrap=True)
            live.update("")  # what it says may be over

        def watch(under_way: UnderWay) -> None:
            live.update(Text(_told(under_way), no_wrap=True, overflow="ellipsis"))

        yield Watcher(say, watch)


def _log() -> Watcher:
    said = time.monotonic()

    def say(line: str) -> None:
        typer.echo(line, err=True)

    def watch(under_way: UnderWay) -> None:
        nonlocal said
        if time.monotonic() - said >= LOG_EVERY:
            said = time.monotonic()
            say(_told(under_way))

    return Watcher(say, watch)


def _told(under_way: UnderWay) -> str:
    """How much is left, then the run that was first heard of, for a terminal may be narrow."""
    left = "" if under_way.seconds_left is None else f"about {duration(under_way.seconds_left)} left, "
    (run, reached), *others = under_way.reached
    more = f", and {len(others)} more" if others else ""
    return f"[{under_way.done}/{under_way.total}] {left}under way: {run.label}, {reached}{more}"


def duration(seconds: float) -> str:
    """Roughly how long.

    Example:
        >>> duration(12.3), duration(125), duration(9000)
        ('12 s', '2 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
