"""Pictures of which a fixed mean and standard deviation are taken out before a network sees them."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from truelabel.networks.network import Network

CIFAR_MEAN = (0.4914, 0.4822, 0.4465)
CIFAR_DEVIATION = (0.2470, 0.2435, 0.2616)
"""Of all pixels of CIFAR-10's training images, in 0..1, as Englesson 2023 takes them out of CIFAR-100 too."""


class Standardised(Network):
    r"""A network on :math:`(x_c - m_c) / s_c`, with m and s fixed for every channel c.

    It comes after augmentation: what moves in at the border of a shifted picture is black, not the mean colour, as in
    the published code of Englesson 2023.

    Args:
        network: what sees the result.
        mean: m, C numbers.
        deviation: s, C positive numbers.

    Shapes: ``(N, C, *space)`` to those of ``network``.

    Example:
        >>> from truelabel.networks import WideResNet
        >>> network = Standardised(WideResNet(depth=10, width=1), mean=(0.5, 0.5, 0.5), deviation=(0.2, 0.2, 0.3))
        >>> network(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 64])
    """

    mean: Tensor
    deviation: Tensor

    def __init__(self, network: Network, mean: Sequence[float], deviation: Sequence[float]) -> None:
        super().__init__()
        if len(mean) != len(deviation):
            raise ValueError(f"mean={mean} and deviation={deviation} must have a number for every channel each")
        if min(deviation) <= 0:
            raise ValueError(f"deviation={deviation} must be positive in every channel")
        self.network = network
        self.features = network.features
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("deviation", torch.tensor(deviation))

    def forward(self, inputs: Tensor) -> Tensor:
        channels = (-1, *(1 for _ in inputs.shape[2:]))
        return self.network((inputs - self.mean.view(channels)) / self.deviation.view(channels))
