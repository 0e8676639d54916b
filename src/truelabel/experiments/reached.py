"""Where a run is that has begun and not ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

TELL_EVERY = 1.0
"""Seconds from one telling to the next at least: epochs of small networks take a tenth of that."""


@dataclass(frozen=True)
class Reached:
    """Where a run is.

    Attributes:
        stage: of its method.
        epoch: how many epochs of the stage are over.
        epochs: how many it has, unless it stops early.
        seconds: since the run began, with what earlier calls have spent on it.

    Example:
        >>> str(Reached("main", 12, 40, 61.0)), str(Reached("warm-up", 1, 20, 3.0))
        ('epoch 12 of 40', 'warm-up, epoch 1 of 20')
    """

    stage: str
    epoch: int
    epochs: int
    seconds: float

    def __str__(self) -> str:
        return ("" if self.stage == "main" else f"{self.stage}, ") + f"epoch {self.epoch} of {self.epochs}"


class Seldom:
    """Says yes, and then no until :data:`TELL_EVERY` has passed."""

    def __init__(self) -> None:
        self.next = 0.0

    def __call__(self) -> bool:
        now = time.perf_counter()
        if now < self.next:
            return False
        self.next = now + TELL_EVERY
        return True


class Teller:
    """Listens to the epochs of a training, and passes on where it is, now and then.

    Args:
        tell: who is told.
        began: of :func:`time.perf_counter`.
    """

    def __init__(self, tell: Callable[[Reached], object], began: float) -> None:
        self.tell = tell
        self.began = began
        self.seldom = Seldom()

    def __call__(self, stage: str, epoch: int, epochs: int) -> None:
        if self.seldom():
            self.tell(Reached(stage, epoch, epochs, time.perf_counter() - self.began))
