"""Labels of a batch, padded to static shapes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from truelabel.coding import Codes
from truelabel.types import MISSING


class Slots(NamedTuple):
    """The labels of some examples, padded: ``labels (*U, S)`` and ``annotators (N, S)``, -1 in empty slots.

    ``position (N, S)`` is where each label stands in the table of annotations, L in empty slots.
    """

    labels: Tensor
    annotators: Tensor
    position: Tensor


class SlotTable:
    """Labels on a device, looked up by example with static shapes; memory follows the labels given.

    Args:
        example: ``(L,)``, ascending.
        annotator: ``(L,)``.
        label: ``(L, *space)``.
        examples: N.
        device: where batches are wanted.

    Example:
        >>> table = SlotTable(np.array([0, 0, 1]), np.array([0, 2, 0]), np.array([0, 1, 1]), examples=2)
        >>> table.at(torch.tensor([1, 0])).labels
        tensor([[ 1, -1],
                [ 0,  1]])
    """

    def __init__(
        self, example: Codes, annotator: Codes, label: Codes, examples: int, device: torch.device | str = "cpu"
    ) -> None:
        counts = np.bincount(example, minlength=examples)
        self.width = int(counts.max(initial=1))
        self.even = bool((counts == self.width).all())
        self.first = torch.from_numpy(np.cumsum(counts) - counts).to(device)
        self.count = torch.from_numpy(counts).to(device)
        # One row at the end for empty slots to point at, so that a table without labels works too.
        empty = np.full((1, *label.shape[1:]), MISSING, label.dtype)
        self.labels = torch.from_numpy(np.concatenate([label, empty])).to(device)
        self.annotators = torch.from_numpy(np.append(annotator, np.int32(MISSING))).to(device)

    def at(self, index: Tensor) -> Slots:
        """Slots of the examples at ``index (n,)``."""
        if self.even and self.width == 1:
            return self._slots(index.unsqueeze(-1))
        offset = torch.arange(self.width, device=index.device)
        given = offset < self.count[index].unsqueeze(-1)
        position = torch.where(given, self.first[index].unsqueeze(-1) + offset, len(self.annotators) - 1)
        return self._slots(position)

    def _slots(self, position: Tensor) -> Slots:
        return Slots(self.labels[position].long().movedim(1, -1), self.annotators[position].long(), position)
