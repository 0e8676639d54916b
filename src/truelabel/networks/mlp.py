"""The multilayer perceptron."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.networks.network import Network


class MLP(Network):
    """``depth`` hidden layers of ``width`` units with ReLU, after flattening all but the first axis.

    With width 2000 and depth 2 it is the network of the two-moons experiments, App. B.1 of Englesson 2023.

    Args:
        inputs: numbers in one example, the product of its shape.
        width: units of every hidden layer, and F.
        depth: hidden layers, at least one.

    Shapes: ``(N, ...) -> (N, width)``.

    Example:
        >>> import torch
        >>> MLP(2, width=16)(torch.zeros(5, 2)).shape
        torch.Size([5, 16])
        >>> MLP(64)(torch.zeros(5, 1, 8, 8)).shape
        torch.Size([5, 128])
    """

    def __init__(self, inputs: int, width: int = 128, depth: int = 2) -> None:
        super().__init__()
        for name, value in (("inputs", inputs), ("width", width), ("depth", depth)):
            if value < 1:
                raise ValueError(f"{name}={value} of an MLP must be at least 1")
        self.features = width
        self.layers = nn.Sequential(nn.Flatten())
        for layer in range(depth):
            self.layers.append(nn.Linear(width if layer else inputs, width))
            self.layers.append(nn.ReLU())

    def forward(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.layers(inputs)
        return features
