"""LeNet-5 as it is used for MNIST in label-noise experiments."""

from __future__ import annotations

from typing import cast

from torch import Tensor, nn

from truelabel.kernels import is_watched
from truelabel.networks.conv_stack import Stage, conv_stack, is_fused
from truelabel.networks.network import Network


class LeNet5(Network):
    """Three 5x5 convolutions with 6, 16 and 120 maps and a dense layer of 84; App. B.1 of Englesson 2023.

    Every convolution keeps the size of its input ("same") and is followed by ReLU; the first two are also
    followed by 2x2 max pooling. The published code flattens the 120 maps, so the dense layer depends on the
    size of the images. Weights start as there: Glorot uniform, Keras's default, and biases at zero.

    Args:
        channels: C of the images.
        size: ``(H, W)`` of the images, at least 4 x 4.

    Shapes: ``(N, C, H, W) -> (N, 84)``.

    Example:
        >>> import torch
        >>> LeNet5(channels=1, size=(8, 8))(torch.zeros(5, 1, 8, 8)).shape
        torch.Size([5, 84])
    """

    features = 84

    def __init__(self, channels: int = 1, size: tuple[int, int] = (28, 28)) -> None:
        super().__init__()
        height, width = size
        if min(size) < 4:
            raise ValueError(f"size={height} x {width} is too small for LeNet-5, which halves it twice: want 4 x 4")
        self.layers = nn.Sequential(
            nn.Conv2d(channels, 6, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5, padding=2),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(16, 120, 5, padding=2),
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(120 * (height // 4) * (width // 4), self.features),
            nn.ReLU(),
        )
        self.built = [type(layer) for layer in self.layers]
        for layer in self.layers:
            if isinstance(layer, (nn.Conv2d, nn.Linear)):
                nn.init.xavier_uniform_(layer.weight)
                nn.init.zeros_(cast(Tensor, layer.bias))

    def forward(self, inputs: Tensor) -> Tensor:
        if self._as_built():
            convolutions = (layer for layer in self.layers if isinstance(layer, nn.Conv2d))
            stages = [
                Stage(layer.weight, cast(Tensor, layer.bias), pool)
                for layer, pool in zip(convolutions, (2, 2, 1), strict=True)
            ]
            if is_fused(inputs, stages):
                quick: Tensor = self.layers[-3:](conv_stack(inputs, stages))
                return quick
        features: Tensor = self.layers(inputs)
        return features

    def _as_built(self) -> bool:
        """Whether nobody has put other layers in, or hooks on them, which kernels for several would pass over."""
        return not any(map(is_watched, self.layers)) and [type(layer) for layer in self.layers] == self.built
