"""Wide residual networks."""

from __future__ import annotations

from torch import Tensor, nn

from truelabel.networks.batch_norm import BatchNorm2d
from truelabel.networks.network import Network
from truelabel.networks.norm_relu import norm_relu


class WideResNet(Network):
    """The pre-activation wide residual network of Zagoruyko 2016, without its class head.

    WRN-28-2 is the network for CIFAR in App. B.1 of Englesson 2023: a convolution with 16 maps, three groups
    of (depth - 4) / 6 blocks with 16, 32 and 64 times ``width`` maps, batch norm (eps 1e-5, momentum 0.1 in
    torch's sense), ReLU and global average pooling. Kernels start from He's normal with fan-in. As in the
    published code, the 1x1 shortcut sees a block's raw input; Zagoruyko's own code gives it the activated
    one.

    Differs from the paper: He's normal is not truncated at two deviations, as Keras does.

    Args:
        depth: layers, 6 n + 4 for n blocks a group.
        width: factor on the maps of the three groups.
        channels: C of the images.

    Shapes: ``(N, C, H, W) -> (N, 64 * width)``.

    Example:
        >>> import torch
        >>> WideResNet(depth=10, width=1)(torch.zeros(2, 3, 32, 32)).shape
        torch.Size([2, 64])
    """

    def __init__(self, depth: int = 28, width: int = 2, channels: int = 3) -> None:
        super().__init__()
        if depth < 10 or (depth - 4) % 6:
            raise ValueError(f"depth={depth} of a wide ResNet must be 6 n + 4: use 10, 16, 22, 28, 34 or 40")
        if width < 1:
            raise ValueError(f"width={width} of a wide ResNet must be at least 1")
        self.features = 64 * width
        self.layers = nn.Sequential(nn.Conv2d(channels, 16, 3, padding=1, bias=False))
        maps = 16
        for wanted, stride in ((16 * width, 1), (32 * width, 2), (64 * width, 2)):
            for position in range((depth - 4) // 6):
                self.layers.append(_Block(maps, wanted, 1 if position else stride))
                maps = wanted
        self.norm = BatchNorm2d(maps)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_in", nonlinearity="relu")

    def forward(self, inputs: Tensor) -> Tensor:
        return norm_relu(self.norm, self.layers(inputs)).mean((-2, -1))


class _Block(nn.Module):
    """Batch norm, ReLU and 3x3 convolution, twice, beside a shortcut."""

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.norm1 = BatchNorm2d(channels)
        self.conv1 = nn.Conv2d(channels, width, 3, stride, padding=1, bias=False)
        self.norm2 = BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        same = channels == width and stride == 1
        self.shortcut = nn.Identity() if same else nn.Conv2d(channels, width, 1, stride, bias=False)

    def forward(self, maps: Tensor) -> Tensor:
        residual: Tensor = self.conv1(norm_relu(self.norm1, maps))
        residual = self.conv2(norm_relu(self.norm2, residual))
        total: Tensor = self.shortcut(maps) + residual
        return total
