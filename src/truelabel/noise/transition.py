"""One transition matrix for all labels: fixed, or fixed plus a learned revision."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from truelabel.noise.model import NoiseModel
from truelabel.precision import log_softmax
from truelabel.types import Likelihood, Prediction

FLOOR = 1e-12
"""Least probability under a matrix that is learned; the gradient of its logarithm must not overflow."""


class Transition(NoiseModel):
    r"""What is said follows the truth through one matrix.

    .. math:: p(\tilde y \mid x) = \sum_y p(y \mid x)\, T[y, \tilde y]

    With cross entropy this is forward correction (Patrini 2017). With ``revise`` the matrix is :math:`T + \Delta T`,
    and the slack :math:`\Delta T` is learned from zero (Xia 2019). Differs from the paper: what falls below zero counts
    as zero, and rows are brought back to one, so that weights never turn negative.

    Args:
        features: F.
        classes: K.
        transition: ``(K, K)``, ``[true, observed]`` with rows that sum to one.
        revise: learn a slack.

    Example:
        >>> model = Transition(features=8, classes=2, transition=torch.tensor([[0.9, 0.1], [0.3, 0.7]]))
        >>> prediction = model(torch.zeros(5, 8), torch.zeros(5, 8), torch.zeros(5, 1, dtype=torch.long))
        >>> torch.allclose(prediction.noisy.all().exp(), prediction.clean.exp().unsqueeze(1) @ model.transition)
        True
    """

    transition: Tensor

    def __init__(self, features: int, classes: int, transition: Tensor, *, revise: bool = False) -> None:
        super().__init__()
        check_transition(transition, classes)
        self.head = nn.Linear(features, classes)
        self.register_buffer("transition", transition.to(self.head.weight.dtype))
        self.slack = nn.Parameter(torch.zeros(classes, classes)) if revise else None

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        clean = log_softmax(self.head(features))
        return Prediction(clean, Mixed(clean, self.revised(), learned=self.slack is not None), clean.new_zeros(()))

    def revised(self) -> Tensor:
        """The matrix in use, ``(K, K)``; rows sum to one."""
        if self.slack is None:
            return self.transition
        cells = (self.transition + self.slack).clamp_min(0)
        return cells / cells.sum(-1, keepdim=True).clamp_min(torch.finfo(cells.dtype).tiny)

    def noise_parameters(self) -> Iterable[nn.Parameter]:
        return () if self.slack is None else (self.slack,)


class Mixed(Likelihood):
    r"""Probabilities mixed by one matrix; only the column of a known label is ever mixed.

    Args:
        clean: ``(*U, K)``, log p(y|x).
        transition: ``(K, K)``.
        learned: mix in probability space, where a cell that is zero still feels the pull of the labels that it holds
            for impossible. A fixed matrix is mixed in log space, exactly.
    """

    def __init__(self, clean: Tensor, transition: Tensor, *, learned: bool = False) -> None:
        self.clean = clean
        self.transition = transition
        self.learned = learned

    def all(self) -> Tensor:
        return self._mix(self.clean, self.transition.T).unsqueeze(-2)

    def at(self, labels: Tensor) -> Tensor:
        return self._mix(self.clean, self.transition.T[labels.clamp_min(0)])

    def _mix(self, clean: Tensor, columns: Tensor) -> Tensor:
        """``clean (*U, K)`` through ``columns (..., J, K)``: ``(*U, J)``."""
        if self.learned:
            top = clean.amax(-1, keepdim=True).detach()
            mixed = ((clean - top).exp().unsqueeze(-2) * columns).sum(-1)
            return (mixed + FLOOR).log() + top
        columns = columns.clamp_min(torch.finfo(columns.dtype).tiny).log()
        return (clean.unsqueeze(-2) + columns).logsumexp(-1)


def check_transition(transition: Tensor, classes: int) -> None:
    """Raise a one-line ValueError if this is no transition matrix of so many classes."""
    if transition.shape != (classes, classes):
        raise ValueError(f"transition must be ({classes}, {classes}), got {tuple(transition.shape)}")
    check_rows("transition", transition)


def check_rows(name: str, matrices: Tensor) -> None:
    """Raise a one-line ValueError unless the last axis of ``matrices (..., K, K)`` holds probabilities."""
    if not bool((matrices >= 0).all()) or not bool(((matrices.sum(-1) - 1).abs() <= 1e-4).all()):
        raise ValueError(f"the rows of {name} must be probabilities that sum to one")
