"""When a training saves itself, and when it stops."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from truelabel.checks import check_amount


class Stopped(Exception):  # noqa: N818  # no error: it was asked for
    """A training was told to stop before its end; its folder has what it takes to go on."""


@dataclass(frozen=True)
class Pace:
    """How often a training saves itself, and until when it goes on.

    Attributes:
        save_every: seconds from one checkpoint to the next at least; 0 for one after every epoch.
        end: of :func:`time.monotonic`. At the end of the epoch in which it passes, the training saves itself and raises
            :class:`Stopped`. None: it goes on to its last epoch.
        on_save: called after every checkpoint, in the first process.

    Example:
        >>> Pace(end=time.monotonic() - 1).over
        True
    """

    save_every: float = 0.0
    end: float | None = None
    on_save: Callable[[], None] | None = None

    def __post_init__(self) -> None:
        check_amount("save_every", self.save_every)

    @property
    def over(self) -> bool:
        """Whether the time has passed."""
        return self.end is not None and time.monotonic() >= self.end
