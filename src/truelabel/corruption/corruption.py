"""The contract of a corruption, and the one that confusion matrices define."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations, label_type
from truelabel.corruption.assignment import assign, label_bounds

_CHUNK = 2**22
"""Probabilities that are held at a time."""


@runtime_checkable
class Corruption(Protocol):
    """Simulates annotators: ``(labels (N,), inputs, generator) -> Annotations``; keeps the truth for scoring.

    Attributes:
        confusion: ``(R, K, K)``, ``[annotator, true, observed]``, what was really used.

    Example:
        >>> isinstance(ConfusedAnnotators(torch.eye(2)), Corruption)
        True
    """

    confusion: Tensor

    def __call__(self, labels: Tensor, inputs: Tensor | None, generator: torch.Generator, /) -> Annotations: ...


class ConfusedAnnotators:
    r"""Annotators who err by class: :math:`\tilde y^{(r)} \sim \mathrm{Categorical}(T^{(r)}[y, :])`.

    Each example is labelled by a number of annotators drawn uniformly from ``labels_per_example``, who are drawn
    without replacement (Sec. 4.1 of Tanno 2019: all of them, or one), one after another in proportion to ``workload``.
    Memory follows the number of labels; with 256 annotators and more, and at most :math:`\sqrt R` labels an example,
    so does time.

    Args:
        confusion: ``(R, K, K)`` with rows that sum to one; ``(K, K)`` is one annotator.
        labels_per_example: how many annotators label an example: a number, or at least and at most; None for all.
        workload: R positive weights, how often each annotator is drawn relative to the others; None for equally often.

    Example:
        >>> annotators = ConfusedAnnotators(torch.eye(3).expand(4, 3, 3), labels_per_example=(1, 2))
        >>> annotations = annotators(torch.tensor([0, 1, 2]), None, torch.Generator().manual_seed(0))
        >>> annotations.label.tolist() == annotations.example.tolist()
        True
    """

    def __init__(
        self,
        confusion: Tensor,
        labels_per_example: int | tuple[int, int] | None = None,
        workload: Sequence[float] | None = None,
    ) -> None:
        confusion = confusion.unsqueeze(0) if confusion.dim() == 2 else confusion
        if confusion.dim() != 3 or confusion.shape[-1] != confusion.shape[-2]:
            raise ValueError(f"confusion must be (R, K, K) or (K, K), got {tuple(confusion.shape)}")
        if bool((confusion < 0).any()) or not bool(((confusion.sum(-1) - 1).abs() < 1e-5).all()):
            raise ValueError("the rows of confusion must be probabilities that sum to one")
        annotators = len(confusion)
        self.confusion = confusion.double() / confusion.double().sum(-1, keepdim=True)
        self.labels_per_example = label_bounds(labels_per_example, annotators)
        self.workload = None if workload is None else _weights(workload, annotators)
        if workload is not None and labels_per_example is None:
            raise ValueError("workload says nothing if all annotators label every example: pass labels_per_example")

    def __call__(self, labels: Tensor, inputs: Tensor | None, generator: torch.Generator) -> Annotations:
        annotators, classes = self.confusion.shape[:2]
        if (
            labels.dim() != 1
            or labels.is_floating_point()
            or bool((labels < 0).any())
            or bool((labels >= classes).any())
        ):
            raise ValueError(f"labels must be (N,) integers in 0..{classes - 1}")
        n = len(labels)
        example, annotator = assign(n, annotators, self.labels_per_example, self.workload, generator)
        observed = self._observed(annotator, labels[example], generator)
        return Annotations(
            example.numpy().astype(np.int32),
            annotator.numpy().astype(np.int32),
            observed.numpy().astype(label_type(classes)),
            np.arange(n),
            np.arange(annotators),
            tuple(range(classes)),
        )

    def _observed(self, annotator: Tensor, true: Tensor, generator: torch.Generator) -> Tensor:
        """What is said, ``(L,)``, by whom and of what."""
        classes = self.confusion.shape[-1]
        cumulative = self.confusion.cumsum(-1)
        observed = torch.empty(len(true), dtype=torch.long)
        for label in torch.arange(len(true)).split(max(1, _CHUNK // classes)):
            draw = torch.rand(len(label), 1, generator=generator, dtype=torch.double)
            # Rounding may leave the last cumulative sum just below one.
            observed[label] = (draw >= cumulative[annotator[label], true[label]]).sum(-1).clamp_max(classes - 1)
        return observed


def _weights(workload: Sequence[float], annotators: int) -> Tensor:
    weights = [float(weight) for weight in workload]
    if len(weights) != annotators:
        raise ValueError(f"workload must have a weight for each of {annotators} annotators, got {len(weights)}")
    wrong = [weight for weight in weights if not 0 < weight < math.inf]
    if wrong:
        raise ValueError(f"workload must be positive, got {wrong[0]}: leave out annotators who label nothing")
    return torch.tensor(weights, dtype=torch.double)
