"""What happens to a batch before the learner sees it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import torch

from truelabel.types import Batch


@runtime_checkable
class Transform(Protocol):
    """``(Batch, generator) -> Batch`` with the same shapes at every step; applied in training only.

    Random numbers that steer the batch as a whole (a mixing coefficient, a permutation) come from ``generator``, a CPU
    generator that ``fit`` seeds per process and keeps in the checkpoint. Numbers drawn per pixel on the device come
    from torch's default generator, which ``fit`` looks after in the same way; a transform that draws nothing else says
    ``on_device = True``, and its step can be recorded as a CUDA graph. ``batch.labels`` is never overwritten.
    """

    def __call__(self, batch: Batch, generator: torch.Generator) -> Batch: ...
