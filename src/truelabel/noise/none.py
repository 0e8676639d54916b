"""No noise: what is said is true."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.noise.model import NoiseModel
from truelabel.precision import log_softmax
from truelabel.types import Categorical, Prediction


class NoNoise(NoiseModel):
    r"""A linear class head whose answer is taken for what annotators say: :math:`p(\tilde y \mid x) = p(y \mid x)`.

    Args:
        features: F.
        classes: K.

    Example:
        >>> import torch
        >>> model = NoNoise(features=8, classes=3)
        >>> prediction = model(torch.zeros(5, 8), torch.zeros(5, 8), torch.zeros(5, 1, dtype=torch.long))
        >>> prediction.clean.shape, prediction.noisy.all().shape
        (torch.Size([5, 3]), torch.Size([5, 1, 3]))
    """

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, classes)

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        clean = log_softmax(self.head(features))
        return Prediction(clean, Categorical(clean.unsqueeze(-2)), clean.new_zeros(()))
