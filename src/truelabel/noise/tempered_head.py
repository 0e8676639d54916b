"""A class head for the bi-tempered loss."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from truelabel.losses import tempered_softmax
from truelabel.noise.model import NoiseModel
from truelabel.precision import log_softmax
from truelabel.types import Categorical, Prediction


class TemperedHead(NoiseModel):
    r"""A linear class head that answers with a tempered softmax (Amid 2019): :math:`\exp_t(a - \lambda(a))`.

    The likelihood is the plain log softmax, which the bi-tempered loss takes for activations. In training, where only
    the order of the classes matters, so is ``clean``.

    Args:
        features: F.
        classes: K.
        temperature: the loss's t2.

    Example:
        >>> model = TemperedHead(features=8, classes=3, temperature=2.0).eval()
        >>> model(torch.zeros(5, 8), torch.zeros(5, 8), torch.zeros(5, 1, dtype=torch.long)).clean.shape
        torch.Size([5, 3])
    """

    def __init__(self, features: int, classes: int, temperature: float) -> None:
        super().__init__()
        if not temperature > 0:
            raise ValueError(f"temperature must be positive, got {temperature!r}")
        self.head = nn.Linear(features, classes)
        self.temperature = temperature

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        log_probs = log_softmax(self.head(features))
        clean = log_probs
        if not self.training:
            clean = tempered_softmax(log_probs, self.temperature).clamp_min(torch.finfo(log_probs.dtype).tiny).log()
        return Prediction(clean, Categorical(log_probs.unsqueeze(-2)), log_probs.new_zeros(()))
