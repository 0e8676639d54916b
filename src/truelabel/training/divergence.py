"""A loss that is no longer a number: noticed on the device, explained once an epoch."""

from __future__ import annotations

import torch
from lightning_fabric import Fabric

from truelabel.training.data import TrainingSet
from truelabel.training.processes import gather
from truelabel.training.step import StepLoss


class DivergedError(ArithmeticError):
    """Training met a loss that is NaN or infinite."""


class FiniteWatch:
    """Remembers the first step of an epoch whose loss or penalty was not finite, without asking the device.

    Args:
        device: where losses are computed.
    """

    def __init__(self, device: torch.device) -> None:
        self.sums = torch.zeros(2, device=device)
        self.finite = torch.zeros(2, dtype=torch.long, device=device)

    def see(self, loss: StepLoss) -> None:
        """Note one step. A sum that was infinite or NaN once stays so, and less itself is then not zero."""
        self.sums += torch.stack([loss.mean, loss.penalty])
        self.finite += (self.sums - self.sums) == 0

    def check(self, fabric: Fabric, epoch: int, steps: int, data: TrainingSet, learning_rate: float) -> None:
        """At the end of an epoch: raise a :class:`DivergedError` that names epoch, step and the likely cause."""
        losses, penalties = gather(fabric, self.finite).amin(0).tolist()
        self.sums.zero_()
        self.finite.zero_()
        step = min(losses, penalties)
        if step == steps:
            return
        what = "loss" if losses == step else "penalty"
        cause = _likely_cause(epoch, step, data, learning_rate)
        raise DivergedError(f"the {what} became NaN or infinite in epoch {epoch}, step {step}: {cause}")


def _likely_cause(epoch: int, step: int, data: TrainingSet, learning_rate: float) -> str:
    if data.inputs.is_floating_point():
        bad = ~data.inputs.flatten(1).isfinite().all(-1)
        if bool(bad.any()):
            return f"inputs of example {int(bad.float().argmax())} are not finite; remove or fill them"
        if epoch == 0 and step == 0:
            top = float(data.inputs.abs().max())
            return f"at the very first step, with inputs as large as {top:.3g}; scale them to about one"
    return (
        f"the learning rate of {learning_rate:g} is probably too high; lower it, for instance to {learning_rate / 10:g}"
    )
