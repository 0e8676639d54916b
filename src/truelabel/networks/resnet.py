"""Residual networks of 18, 34 and 50 layers, with the stem for small images or the one for ImageNet."""

from __future__ import annotations

from typing import Literal, get_args

from torch import Tensor, nn

from truelabel.networks.batch_norm import BatchNorm2d
from truelabel.networks.network import Network
from truelabel.networks.norm_relu import norm_relu

Stem = Literal["cifar", "imagenet"]


class ResNet(Network):
    """The residual network of He 2016, without its class head.

    ResNet-50 learns CIFAR-10 in App. A of Tanno 2019; ResNet-18, 34 and 50 are the encoders in Sec. 4.1 of
    Yao 2021; Englesson 2023 and Yao 2021 take a pretrained ResNet-50 for Clothing1M. Convolutions start from
    Kaiming's normal with fan-out. Parameters are named as in torchvision, so that with ``stem="imagenet"``
    its weights load as they are once ``fc.*`` is removed.

    Differs from the papers: Tanno 2019 does not name its stem, and the code of Yao 2021 uses ImageNet's even
    on 28 x 28 images; the default here is the stem for small images, which keeps their resolution.

    Args:
        depth: 18, 34 or 50.
        channels: C of the images.
        stem: "cifar" is one 3x3 convolution of stride 1; "imagenet" is 7x7 of stride 2, then max pooling of
            stride 2.

    Shapes: ``(N, C, H, W) -> (N, F)`` with F = 512, or 2048 at depth 50.

    Example:
        >>> import torch
        >>> ResNet(18, channels=1)(torch.zeros(2, 1, 8, 8)).shape
        torch.Size([2, 512])
    """

    def __init__(self, depth: int, channels: int = 3, stem: Stem = "cifar") -> None:
        super().__init__()
        if depth not in _BLOCKS:
            raise ValueError(f"depth={depth} of a ResNet must be one of {', '.join(map(str, _BLOCKS))}")
        if stem not in get_args(Stem):
            raise ValueError(f"stem={stem!r} of a ResNet must be 'cifar' or 'imagenet'")
        block, counts = _BLOCKS[depth]
        self.features = 512 * block.expansion
        small = stem == "cifar"
        self.conv1 = _conv(channels, 64, 3) if small else _conv(channels, 64, 7, stride=2)
        self.bn1 = BatchNorm2d(64)
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = _stage(block, 64, 64, counts[0], stride=1)
        self.layer2 = _stage(block, 64 * block.expansion, 128, counts[1], stride=2)
        self.layer3 = _stage(block, 128 * block.expansion, 256, counts[2], stride=2)
        self.layer4 = _stage(block, 256 * block.expansion, 512, counts[3], stride=2)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, inputs: Tensor) -> Tensor:
        maps: Tensor = self.maxpool(norm_relu(self.bn1, self.conv1(inputs)))
        maps = self.layer4(self.layer3(self.layer2(self.layer1(maps))))
        return maps.mean((-2, -1))


def resnet18(channels: int = 3, stem: Stem = "cifar") -> ResNet:
    """The :class:`ResNet` of 18 layers, ``(N, C, H, W) -> (N, 512)``.

    Example:
        >>> resnet18(channels=1).features
        512
    """
    return ResNet(18, channels, stem)


def resnet34(channels: int = 3, stem: Stem = "cifar") -> ResNet:
    """The :class:`ResNet` of 34 layers, ``(N, C, H, W) -> (N, 512)``.

    Example:
        >>> resnet34(channels=1).features
        512
    """
    return ResNet(34, channels, stem)


def resnet50(channels: int = 3, stem: Stem = "cifar") -> ResNet:
    """The :class:`ResNet` of 50 layers, ``(N, C, H, W) -> (N, 2048)``.

    Example:
        >>> resnet50(channels=1).features
        2048
    """
    return ResNet(50, channels, stem)


class _Basic(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    expansion = 1

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _conv(channels, width, 3, stride)
        self.bn1 = BatchNorm2d(width)
        self.conv2 = _conv(width, width, 3)
        self.bn2 = BatchNorm2d(width)
        self.downsample = _shortcut(channels, width, stride)

    def forward(self, maps: Tensor) -> Tensor:
        residual = norm_relu(self.bn1, self.conv1(maps))
        return norm_relu(self.bn2, self.conv2(residual), added=self.downsample(maps))


class _Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut; the 3x3 one carries the stride."""

    expansion = 4

    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = _conv(channels, width, 1)
        self.bn1 = BatchNorm2d(width)
        self.conv2 = _conv(width, width, 3, stride)
        self.bn2 = BatchNorm2d(width)
        self.conv3 = _conv(width, width * self.expansion, 1)
        self.bn3 = BatchNorm2d(width * self.expansion)
        self.downsample = _shortcut(channels, width * self.expansion, stride)

    def forward(self, maps: Tensor) -> Tensor:
        residual = norm_relu(self.bn1, self.conv1(maps))
        residual = norm_relu(self.bn2, self.conv2(residual))
        return norm_relu(self.bn3, self.conv3(residual), added=self.downsample(maps))


_Block = type[_Basic] | type[_Bottleneck]

_BLOCKS: dict[int, tuple[_Block, tuple[int, int, int, int]]] = {
    18: (_Basic, (2, 2, 2, 2)),
    34: (_Basic, (3, 4, 6, 3)),
    50: (_Bottleneck, (3, 4, 6, 3)),
}


def _conv(channels: int, width: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(channels, width, kernel, stride, padding=kernel // 2, bias=False)


def _shortcut(channels: int, width: int, stride: int) -> nn.Module:
    if channels == width and stride == 1:
        return nn.Identity()
    return nn.Sequential(_conv(channels, width, 1, stride), BatchNorm2d(width))


def _stage(block: _Block, channels: int, width: int, count: int, stride: int) -> nn.Sequential:
    first = block(channels, width, stride)
    return nn.Sequential(first, *(block(width * block.expansion, width, 1) for _ in range(count - 1)))
