"""Networks by name: an explicit dictionary, and one function that builds whatever users pass."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import torch
from torch import nn

from truelabel.networks.cnn import CollierCNN, TannoCNN
from truelabel.networks.lenet import LeNet5
from truelabel.networks.mlp import MLP
from truelabel.networks.network import Network, adapt
from truelabel.networks.resnet import ResNet, Stem
from truelabel.networks.standardised import CIFAR_DEVIATION, CIFAR_MEAN, Standardised
from truelabel.networks.unet import UNet
from truelabel.networks.wide_resnet import WideResNet

Shape = tuple[int, ...]
"""The shape of one example, without N: ``(F_in,)``, ``(C, H, W)`` or ``(C, D, H, W)``."""


def build(network: str | nn.Module | Callable[[Shape], nn.Module], shape: Shape) -> Network:
    """The network for examples of ``shape``.

    Args:
        network: a name in :data:`NETWORKS`; a name with its size, "mlp:2000" (also "tanno-cnn" and "unet") or
            "wrn-40-4"; a module, which :func:`~truelabel.networks.network.adapt` wraps; or a function from
            ``shape`` to a module.
        shape: of one example, without N.

    Raises:
        ValueError: if the name is unknown or the network cannot take this shape.
        TypeError: if ``network``, or what it returns, is none of these.

    Example:
        >>> import torch
        >>> build("auto", (1, 28, 28)).features
        84
        >>> build("mlp:2000", (2,)).features
        2000
        >>> build(lambda shape: torch.nn.Linear(shape[0], 9), (4,)).features
        9
    """
    if not shape or min(shape) < 1:
        raise ValueError(f"shape={shape} of one example must have at least one axis and no empty one")
    if isinstance(network, str):
        return _named(network, shape)
    if not isinstance(network, nn.Module):
        if not callable(network):
            raise TypeError(f"network={network!r} must be a name, a torch.nn.Module or a function from shape to one")
        network = network(shape)
    return adapt(network, torch.zeros(1, *shape, dtype=torch.float32))


def check_network(name: str) -> None:
    """Raise a one-line ValueError if no network has that name, whatever it may be given.

    Example:
        >>> check_network("wrn-28-2")
        >>> check_network("wrn")
        Traceback (most recent call last):
        ...
        ValueError: unknown network 'wrn': choose from ...
    """
    base, colon, size = name.partition(":")
    if colon and base in _SIZED:
        if not re.fullmatch(r"0*[1-9]\d*", size):
            raise ValueError(f"network {name!r} needs a positive whole number after the colon, as in '{base}:64'")
    elif name not in NETWORKS and not _WIDE.fullmatch(name):
        sized = ", ".join(f"{known}:WIDTH" for known in _SIZED)
        raise ValueError(f"unknown network {name!r}: choose from {', '.join(NETWORKS)}, wrn-DEPTH-WIDTH, {sized}")


_WIDE = re.compile(r"wrn-(\d+)-(\d+)")


def _named(name: str, shape: Shape) -> Network:
    check_network(name)
    if name in NETWORKS:
        return NETWORKS[name](shape)
    if wide := _WIDE.fullmatch(name):
        return _wide_resnet(shape, name, depth=int(wide[1]), width=int(wide[2]))
    base, _, size = name.partition(":")
    return _SIZED[base](shape, int(size))


def _auto(shape: Shape) -> Network:
    if len(shape) < 3:
        return _mlp(shape)
    if len(shape) == 3 and shape[0] == 1 and min(shape[1:]) >= 4 and max(shape[1:]) <= 32:
        return _lenet(shape)
    return _resnet(shape, "resnet-18", depth=18)


def _mlp(shape: Shape, width: int = 128) -> Network:
    return MLP(math.prod(shape), width)


def _lenet(shape: Shape) -> Network:
    channels, height, width = _image(shape, "lenet-5", smallest=4)
    return LeNet5(channels, (height, width))


def _tanno(shape: Shape, width: int | None = None) -> Network:
    channels, _, _ = _image(shape, "tanno-cnn", smallest=2)
    return TannoCNN(channels) if width is None else TannoCNN(channels, (width, width, width, width))


def _collier(shape: Shape) -> Network:
    channels, _, _ = _image(shape, "collier-cnn", smallest=28)
    return CollierCNN(channels)


def _resnet(shape: Shape, name: str, depth: int, stem: Stem = "cifar") -> Network:
    channels, _, _ = _image(shape, name)
    return ResNet(depth, channels, stem)


def _wide_resnet(shape: Shape, name: str, depth: int, width: int) -> Network:
    channels, _, _ = _image(shape, name)
    return WideResNet(depth, width, channels)


def _for_cifar(shape: Shape, name: str, depth: int, width: int) -> Network:
    channels, _, _ = _image(shape, name)
    if channels != len(CIFAR_MEAN):
        raise ValueError(f"network {name!r} takes images with 3 channels, got {channels}: use network 'wrn-28-2'")
    return Standardised(WideResNet(depth, width, channels), CIFAR_MEAN, CIFAR_DEVIATION)


def _unet(shape: Shape, width: int = 16) -> Network:
    if len(shape) not in (3, 4):
        raise ValueError(
            f"network 'unet' takes (C, H, W) images or (C, D, H, W) volumes, got examples of shape {shape}"
        )
    channels, *space = shape
    # Small images get fewer levels, so that the deepest still has a pixel to compare with another.
    depth = min(4, (max(space) - 1).bit_length())
    if depth < 1:
        raise ValueError(f"network 'unet' needs more than one pixel, got examples of shape {shape}")
    return UNet(channels, width, depth, dims=len(space))


def _image(shape: Shape, name: str, smallest: int = 1) -> tuple[int, int, int]:
    if len(shape) == 1:
        raise ValueError(f"network {name!r} takes (C, H, W) images, got {shape[0]} flat features: use network 'mlp'")
    if len(shape) != 3:
        raise ValueError(f"network {name!r} takes (C, H, W) images, got examples of shape {shape}")
    channels, height, width = shape
    if min(height, width) < smallest:
        raise ValueError(
            f"network {name!r} needs (C, H, W) images of at least {smallest} x {smallest} pixels, "
            f"got shape {shape}: use network 'resnet-18' or 'mlp'"
        )
    return channels, height, width


NETWORKS: dict[str, Callable[[Shape], Network]] = {
    "auto": _auto,
    "mlp": _mlp,
    "lenet-5": _lenet,
    "tanno-cnn": _tanno,
    "collier-cnn": _collier,
    "resnet-18": lambda shape: _resnet(shape, "resnet-18", depth=18),
    "resnet-34": lambda shape: _resnet(shape, "resnet-34", depth=34),
    "resnet-50": lambda shape: _resnet(shape, "resnet-50", depth=50),
    "resnet-18-imagenet": lambda shape: _resnet(shape, "resnet-18-imagenet", depth=18, stem="imagenet"),
    "resnet-34-imagenet": lambda shape: _resnet(shape, "resnet-34-imagenet", depth=34, stem="imagenet"),
    "resnet-50-imagenet": lambda shape: _resnet(shape, "resnet-50-imagenet", depth=50, stem="imagenet"),
    "wrn-28-2": lambda shape: _wide_resnet(shape, "wrn-28-2", depth=28, width=2),
    "wrn-28-2-cifar": lambda shape: _for_cifar(shape, "wrn-28-2-cifar", depth=28, width=2),
    "unet": _unet,
}
"""From name to a function that builds the network for the shape of one example. "auto" is an MLP for flat
features, LeNet-5 for images with one channel up to 32 x 32, and ResNet-18 for all other images. Those that end with
"-imagenet" start with the 7 x 7 stride-2 stem that halves an image twice (Yao 2021 has it on small images too);
"wrn-28-2-cifar" takes the mean and standard deviation of CIFAR-10's channels out first (Englesson 2023)."""

_SIZED: dict[str, Callable[[Shape, int], Network]] = {"mlp": _mlp, "tanno-cnn": _tanno, "unet": _unet}
