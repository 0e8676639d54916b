"""A data set where the training happens: on the device, with batches chosen by index."""

from __future__ import annotations

import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.types import Batch


class TrainingSet:
    """Inputs and labels on one device; a batch is a look-up with static shapes.

    Args:
        inputs: ``(N, ...)`` floats, or bytes that stand for 0..1 in steps of 1/255.
        annotations: what was said about the same N examples.
        weights: ``(L,)``, how much each label counts; one by default.
        soft: ``(L, *space, K)`` targets instead of the labels, in the order of the table of annotations.
        device: where.

    Example:
        >>> data = TrainingSet(torch.zeros(3, 2), Annotations.from_matrix([[0, 1], [1, -1], [0, 0]]))
        >>> data.batch(torch.tensor([1, 2])).labels
        tensor([[ 1, -1],
                [ 0,  0]])
    """

    def __init__(
        self,
        inputs: Tensor,
        annotations: Annotations,
        *,
        weights: Tensor | None = None,
        soft: Tensor | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        if len(inputs) != len(annotations.examples):
            raise ValueError(
                f"there are {len(inputs)} inputs, but annotations for {len(annotations.examples)} examples"
            )
        self.annotations = annotations
        self.inputs = inputs.to(device)
        self.slots = annotations.slot_table(device)
        weights = torch.ones(annotations.size) if weights is None else weights
        # One row more, for empty slots, as in the slot table.
        self.weights = torch.cat([weights.float(), torch.zeros(1)]).to(device)
        self.soft = None if soft is None else torch.cat([soft, soft.new_zeros(1, *soft.shape[1:])]).to(device)

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def device(self) -> torch.device:
        """Where inputs and labels lie."""
        return self.inputs.device

    def batch(self, index: Tensor) -> Batch:
        """The examples at ``index (n,)``, which lies on the same device."""
        labels, annotators, position = self.slots.at(index)
        soft = None if self.soft is None else self.soft[position].movedim(1, -2)
        return Batch(as_float(self.inputs[index]), labels, annotators, self.weights[position], soft, index)


def as_float(inputs: Tensor) -> Tensor:
    """Inputs as a network takes them: floats as they are, bytes divided by 255."""
    return inputs / 255 if inputs.dtype == torch.uint8 else inputs
