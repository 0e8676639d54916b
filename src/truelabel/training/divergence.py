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
        self.step = torch.zeros((), dtype=torch.long, device=device)
        self.first = torch.full((2,), -1, dtype=torch.long, device=device)

    def see(self, loss: StepLoss) -> None:
        """Note one step."""
        bad = ~torch.stack([loss.finite_losses, loss.finite_penalty])
        self.first.copy_(torch.where((self.first < 0) & bad, self.step, self.first))
        self.step += 1

    def check(self, fabric: Fabric, epoch: int, data: TrainingSet, learning_rate: float) -> None:
        """At the end of an epoch: raise a :class:`DivergedError` that names epoch, step and the likely cause."""
        losses, penalties = (steps[steps >= 0].tolist() for steps in gather(fabric, self.first).unbind(-1))
        self.step.zero_()
        self.first.fill_(-1)
        if not losses and not penalties:
            return
        step = min(losses + penalties)
        what = "loss" if losses and min(losses) == step else "penalty"
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
