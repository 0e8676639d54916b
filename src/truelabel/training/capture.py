"""A training step recorded as a CUDA graph: small networks are bound by launches, not by arithmetic."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

WARM_UP = 3
"""Steps that run eagerly, on a stream of their own, before one is recorded; they train like any other."""


class CapturedStep:
    """A step as a function of an index, recorded after a few eager ones.

    The step must have static shapes, draw random numbers from the device's default generator only, and read whatever
    changes over time from tensors that are filled in place. A step that asks the device for a value cannot be recorded:
    a warning says so, and it runs eagerly.

    Args:
        step: takes an index ``(n,)`` on the device and trains on these examples.
        clear: sets gradients to None; the recorded backward pass then owns them.
    """

    def __init__(self, step: Callable[[Tensor], None], clear: Callable[[], None]) -> None:
        self.step = step
        self.clear = clear
        self.taken = 0
        self.index: Tensor | None = None
        self.graph: torch.cuda.CUDAGraph | None = torch.cuda.CUDAGraph()

    def __call__(self, index: Tensor) -> None:
        """Train on the examples at ``index``."""
        if self.taken < WARM_UP:
            self._warm_up(index)
        else:
            if self.taken == WARM_UP:
                self._record(index)
            if self.graph is None:
                self.clear()
                self.step(index)
            else:
                assert self.index is not None
                self.index.copy_(index)
                self.graph.replay()
        self.taken += 1

    def _warm_up(self, index: Tensor) -> None:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side), fastest_convolutions():
            self.clear()
            self.step(index)
        torch.cuda.current_stream().wait_stream(side)

    def _record(self, index: Tensor) -> None:
        assert self.graph is not None
        self.index = index.clone()
        self.clear()
        stream, generators = torch.cuda.current_stream(), torch.cuda.default_generators
        states = [generator.clone_state() for generator in generators]
        try:
            with fastest_convolutions(), torch.cuda.graph(self.graph):
                self.step(self.index)
        except RuntimeError as error:
            # A recording that fails leaves its stream in place, and generators that refuse to draw.
            torch.cuda.set_stream(stream)
            for generator, state in zip(generators, states, strict=True):
                generator.graphsafe_set_state(state)
            self.graph = None
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            warnings.warn(f"the step cannot be recorded as a CUDA graph and runs eagerly: {reason}", stacklevel=2)


@contextmanager
def fastest_convolutions() -> Iterator[None]:
    """Let cuDNN try what it has on shapes that it has not met, and take the fastest from then on.

    That pays where shapes never change, as in a recorded step. What it found in the warm-up is what is recorded.
    """
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = True
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before
