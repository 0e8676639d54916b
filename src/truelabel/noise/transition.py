"""One transition matrix for all labels: fixed, or fixed plus a learned revision."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from truelabel.noise.model import NoiseModel
from truelabel.types import Likelihood, Prediction


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
        clean = self.head(features).log_softmax(-1)
        return Prediction(clean, Mixed(clean, self.revised()), clean.new_zeros(()))

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
    """

    def __init__(self, clean: Tensor, transition: Tensor) -> None:
        self.clean = clean
        # The logarithm of an impossible mistake stays finite, and so does its gradient.
        self.log_transition = transition.clamp_min(torch.finfo(transition.dtype).tiny).log()

    def all(self) -> Tensor:
        return (self.clean.unsqueeze(-1) + self.log_transition).logsumexp(-2).unsqueeze(-2)

    def at(self, labels: Tensor) -> Tensor:
        columns = self.log_transition.T[labels.clamp_min(0)]
        return (self.clean.unsqueeze(-2) + columns).logsumexp(-1)


def check_transition(transition: Tensor, classes: int) -> None:
    """Raise a one-line ValueError if this is no transition matrix of so many classes."""
    if transition.shape != (classes, classes):
        raise ValueError(f"transition must be ({classes}, {classes}), got {tuple(transition.shape)}")
    if bool((transition < 0).any()) or bool(((transition.sum(-1) - 1).abs() > 1e-4).any()):
        raise ValueError("the rows of transition must be probabilities that sum to one")
