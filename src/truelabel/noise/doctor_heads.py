"""A class head for every annotator, and a weighted mean of what they would say (Guan 2018)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from truelabel.noise.confusion_cells import over_units
from truelabel.noise.model import NoiseModel
from truelabel.precision import log_softmax
from truelabel.types import Categorical, Likelihood, Prediction

FEWEST = 3
"""Annotators from whom weights can be learned: of two, each is judged by the other alone, whatever its weight."""


REACH = 10.0
"""How far the logit of a weight should be able to travel in a training."""


class DoctorHeads(NoiseModel):
    r"""Each annotator has a class head of their own; the answer is their weighted mean.

    .. math:: p(\tilde y^{(r)} \mid x) = p_r(\tilde y^{(r)} \mid x), \qquad p(y \mid x) = \sum_r w_r\, p_r(y \mid x),
              \qquad w = \operatorname{softmax}(v)

    Guan 2018, "Who said what: modeling individual labelers improves classification". Weights start even. They are
    learned in a second stage (``averaging``), in which what annotator r said is predicted by the *others*,
    :math:`\sum_{s \ne r} w_s p_s / (1 - w_r)`, so that nobody is judged by a head that has learned their own labels.
    Differs from the paper, which leaves out all who labelled the example; with dense labels nobody would be left.

    All R heads are evaluated for every example, so the cost follows R.

    Args:
        features: F.
        classes: K.
        annotators: R.
        averaging: the second stage; without effect for fewer than three annotators, whose weights stay even.

    Example:
        >>> model = DoctorHeads(features=8, classes=3, annotators=5)
        >>> prediction = model(torch.zeros(2, 8), torch.zeros(2, 8), torch.tensor([[0, 4], [2, -1]]))
        >>> prediction.clean.shape, prediction.noisy.all().shape
        (torch.Size([2, 3]), torch.Size([2, 2, 3]))
    """

    weight: Tensor

    def __init__(self, features: int, classes: int, annotators: int, *, averaging: bool = False) -> None:
        super().__init__()
        if annotators < 1:
            raise ValueError(f"annotators must be at least 1, got {annotators}")
        self.annotators, self.classes = annotators, classes
        self.averaging = averaging and annotators >= FEWEST
        self.head = nn.Linear(features, annotators * classes)
        even = torch.zeros(annotators)
        if self.averaging:
            self.weight = nn.Parameter(even)
        else:
            self.register_buffer("weight", even)

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        each = log_softmax(self.head(features).unflatten(-1, (self.annotators, self.classes)))  # (*U, R, K)
        log_weights = self.weight.log_softmax(0)
        weighted = each + log_weights.unsqueeze(-1)
        clean = weighted.logsumexp(-2)
        who = (
            over_units(annotators.clamp_min(0), clean.shape[:-1])
            .unsqueeze(-1)
            .expand(*[-1] * clean.dim(), self.classes)
        )
        noisy: Likelihood = Categorical(each.gather(-2, who))
        if self.averaging:
            rest = 1 - log_weights.exp()[who[..., 0]]
            noisy = _ByOthers(clean, weighted.gather(-2, who), rest)
        return Prediction(clean, noisy, clean.new_zeros(()))

    def noise_parameters(self) -> Iterable[nn.Parameter]:
        return (self.weight,) if isinstance(self.weight, nn.Parameter) else ()

    def noise_reach(self) -> float:
        return REACH


class _ByOthers(Likelihood):
    """Logs of ``clean (*U, K)`` and of an annotator's part of it ``(*U, S, K)``; the weight of the rest ``(*U, S)``."""

    def __init__(self, clean: Tensor, own: Tensor, rest: Tensor) -> None:
        self.clean, self.own, self.rest = clean, own, rest

    def all(self) -> Tensor:
        tiny = torch.finfo(self.own.dtype).eps
        others = self.clean.unsqueeze(-2).exp() - self.own.exp()
        # Where one annotator has all the weight, what the others say is lost in rounding.
        log_probs = (others.clamp_min(0) + tiny).log() - (self.rest + tiny * self.clean.shape[-1]).log().unsqueeze(-1)
        return log_probs
