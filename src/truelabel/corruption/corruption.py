"""The contract of a corruption, and the one that confusion matrices define."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations, label_type


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

    def __call__(self, labels: Tensor, inputs: Tensor | None, generator: torch.Generator) -> Annotations: ...


class ConfusedAnnotators:
    r"""Annotators who err by class: :math:`\tilde y^{(r)} \sim \mathrm{Categorical}(T^{(r)}[y, :])`.

    Each example is labelled by a number of annotators drawn uniformly from ``labels_per_example``, who are drawn
    without replacement (Sec. 4.1 of Tanno 2019: all of them, or one).

    Args:
        confusion: ``(R, K, K)`` with rows that sum to one; ``(K, K)`` is one annotator.
        labels_per_example: how many annotators label an example, at least and at most; None for all.

    Example:
        >>> annotators = ConfusedAnnotators(torch.eye(3).expand(4, 3, 3), labels_per_example=(1, 2))
        >>> annotations = annotators(torch.tensor([0, 1, 2]), None, torch.Generator().manual_seed(0))
        >>> annotations.label.tolist() == annotations.example.tolist()
        True
    """

    def __init__(self, confusion: Tensor, labels_per_example: tuple[int, int] | None = None) -> None:
        confusion = confusion.unsqueeze(0) if confusion.dim() == 2 else confusion
        if confusion.dim() != 3 or confusion.shape[-1] != confusion.shape[-2]:
            raise ValueError(f"confusion must be (R, K, K) or (K, K), got {tuple(confusion.shape)}")
        if bool((confusion < 0).any()) or not bool(((confusion.sum(-1) - 1).abs() < 1e-5).all()):
            raise ValueError("the rows of confusion must be probabilities that sum to one")
        annotators = len(confusion)
        low, high = (annotators, annotators) if labels_per_example is None else labels_per_example
        if not 1 <= low <= high <= annotators:
            raise ValueError(f"labels_per_example must lie in 1..{annotators}, got {labels_per_example}")
        self.confusion = confusion.double() / confusion.double().sum(-1, keepdim=True)
        self.labels_per_example = (low, high)

    def __call__(self, labels: Tensor, inputs: Tensor | None, generator: torch.Generator) -> Annotations:
        annotators, classes = self.confusion.shape[:2]
        if (
            labels.dim() != 1
            or labels.is_floating_point()
            or bool((labels < 0).any())
            or bool((labels >= classes).any())
        ):
            raise ValueError(f"labels must be (N,) integers in 0..{classes - 1}")
        n, (low, high) = len(labels), self.labels_per_example
        count = torch.randint(low, high + 1, (n, 1), generator=generator)
        lots = torch.rand(n, annotators, generator=generator).argsort(-1)
        example, annotator = (lots < count).nonzero(as_tuple=True)
        cumulative = self.confusion.cumsum(-1)[annotator, labels[example]]
        draw = torch.rand(len(example), 1, generator=generator, dtype=torch.double)
        # Rounding may leave the last cumulative sum just below one.
        observed = (draw >= cumulative).sum(-1).clamp_max(classes - 1)
        return Annotations(
            example.numpy().astype(np.int32),
            annotator.numpy().astype(np.int32),
            observed.numpy().astype(label_type(classes)),
            np.arange(n),
            np.arange(annotators),
            tuple(range(classes)),
        )
