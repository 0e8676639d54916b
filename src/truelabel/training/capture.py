"""A training step recorded as a CUDA graph: small networks are bound by launches, not by arithmetic."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

WARM_UP = 3
"""Steps that run eagerly, on a stream of their own, before one is recorded; they train like any other."""


class CapturedStep:
    """A step as a function of an index, recorded after a few eager ones.

    The step must have static shapes, draw random numbers from the device's default generator only, and read whatever
    changes over time from tensors that are filled in place.

    Args:
        step: takes an index ``(n,)`` on the device and trains on these examples.
        clear: sets gradients to None; the recorded backward pass then owns them.
    """

    def __init__(self, step: Callable[[Tensor], None], clear: Callable[[], None]) -> None:
        self.step = step
        self.clear = clear
        self.taken = 0
        self.index: Tensor | None = None
        self.graph = torch.cuda.CUDAGraph()

    def __call__(self, index: Tensor) -> None:
        """Train on the examples at ``index``."""
        if self.taken < WARM_UP:
            self._warm_up(index)
        else:
            if self.index is None:
                self._record(index)
            assert self.index is not None
            self.index.copy_(index)
            self.graph.replay()
        self.taken += 1

    def _warm_up(self, index: Tensor) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.clear()
            self.step(index)
        torch.cuda.current_stream().wait_stream(side)

    def _record(self, index: Tensor) -> None:
        self.index = index.clone()
        self.clear()
        with torch.cuda.graph(self.graph):
            self.step(self.index)
