"""What happens to a batch before the learner sees it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from truelabel.types import Batch


@runtime_checkable
class Transform(Protocol):
    """``Batch -> Batch`` with the same shapes at every step; applied in training only.

    A transform is part of the training step: it draws from torch's default generator of the device, which ``fit``
    seeds, keeps in the checkpoint and gives back, and reads no value of a tensor in Python, so that the step can be
    recorded as a CUDA graph. Labels are never replaced by others; where units lie in space they move with the input.
    """

    def __call__(self, batch: Batch) -> Batch: ...
