"""The two plain convolutional networks of the papers; both end with global average pooling."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.networks.group_norm import LeakyGroupNorm
from truelabel.networks.network import Network


class TannoCNN(Network):
    """Four 3x3 convolutions with ReLU and global average pooling, App. A of Tanno 2019.

    The widths (32, 32, 64, 64) are those for MNIST; ``(128,) * 4`` is the network for cardiac views. The
    paper leaves open how often it pools and how it pads: here 2x2 max pooling follows the second convolution
    only, and every convolution keeps the size of its input.

    Args:
        channels: C of the images.
        widths: maps of the four convolutions; the last one is F.

    Shapes: ``(N, C, H, W) -> (N, widths[-1])`` with H and W at least 2.

    Example:
        >>> import torch
        >>> TannoCNN()(torch.zeros(5, 1, 28, 28)).shape
        torch.Size([5, 64])
    """

    def __init__(self, channels: int = 1, widths: tuple[int, int, int, int] = (32, 32, 64, 64)) -> None:
        super().__init__()
        if len(widths) != 4:
            raise ValueError(f"widths={widths} of a TannoCNN must be four numbers")
        first, second, third, self.features = widths
        self.layers = nn.Sequential(
            nn.Conv2d(channels, first, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(first, second, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(second, third, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(third, self.features, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )

    def forward(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.layers(inputs)
        return features


class CollierCNN(Network):
    """Nine 3x3 convolutions with group norm (2 groups) and leaky ReLU (0.01), Table 7 of Collier 2020.

    Maps: 128, 128, 128, pool, dropout, 256, 256, 256, pool, dropout, 512, 256, 128, global average pool. What
    the paper leaves open follows the co-teaching network that it cites: the first six convolutions pad by one
    and the last three not at all, they have biases, and dropout (0.25) drops whole channels.

    Args:
        channels: C of the images.

    Shapes: ``(N, C, H, W) -> (N, 128)`` with H and W at least 28.

    Example:
        >>> import torch
        >>> CollierCNN(channels=1)(torch.zeros(2, 1, 28, 28)).shape
        torch.Size([2, 128])
    """

    features = 128

    def __init__(self, channels: int = 3) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _Normalised(channels, 128, padding=1),
            _Normalised(128, 128, padding=1),
            _Normalised(128, 128, padding=1),
            nn.MaxPool2d(2),
            nn.Dropout2d(0.25),
            _Normalised(128, 256, padding=1),
            _Normalised(256, 256, padding=1),
            _Normalised(256, 256, padding=1),
            nn.MaxPool2d(2),
            nn.Dropout2d(0.25),
            _Normalised(256, 512, padding=0),
            _Normalised(512, 256, padding=0),
            _Normalised(256, self.features, padding=0),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
        )

    def forward(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.layers(inputs)
        return features


class _Normalised(nn.Module):
    """A convolution, group norm and leaky ReLU; the norm has the convolution's bias."""

    def __init__(self, channels: int, width: int, padding: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, width, 3, padding=padding)
        self.norm = LeakyGroupNorm(2, width, slope=0.01, shift=self.conv.bias)
        self.conv.bias = None

    def forward(self, maps: Tensor) -> Tensor:
        normed: Tensor = self.norm(self.conv(maps))
        return normed
