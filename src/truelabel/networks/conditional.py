"""Networks of an input and a class: the encoders and the decoder of a generative model (Yao 2021)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from truelabel.networks.batch_norm import BatchNorm2d

Shape = tuple[int, ...]

MAPS = (32, 64, 128, 256)
"""Channels of the convolutions, each of which halves the image."""


class Encoder(nn.Module, ABC):
    """``(inputs (N, ...), classes (N, K)) -> (N, D)``: reads an input along with a class, one-hot or relaxed."""

    @abstractmethod
    def forward(self, inputs: Tensor, classes: Tensor) -> Tensor: ...

    def __call__(self, inputs: Tensor, classes: Tensor) -> Tensor:
        code: Tensor = super().__call__(inputs, classes)
        return code


class Decoder(nn.Module, ABC):
    """``(classes (N, K), latent (N, J)) -> (N, ...)``: an input from a class and a latent vector."""

    @abstractmethod
    def forward(self, classes: Tensor, latent: Tensor) -> Tensor: ...

    def __call__(self, classes: Tensor, latent: Tensor) -> Tensor:
        inputs: Tensor = super().__call__(classes, latent)
        return inputs


class ImageEncoder(Encoder):
    """Four strided convolutions over the image with the class as one more channel (App. C of Yao 2021).

    The class becomes a channel by a linear layer K -> H·W; the image passes a 1x1 convolution; both together pass 3x3
    convolutions of stride 2 with 32, 64, 128 and 256 maps, each with batch norm and leaky ReLU, and a linear layer.

    Args:
        shape: ``(C, H, W)`` of one image.
        classes: K.
        outputs: D.

    Shapes: ``(N, C, H, W), (N, K) -> (N, D)``.

    Example:
        >>> ImageEncoder((1, 28, 28), classes=10, outputs=50)(torch.zeros(2, 1, 28, 28), torch.zeros(2, 10)).shape
        torch.Size([2, 50])
    """

    def __init__(self, shape: Shape, classes: int, outputs: int) -> None:
        super().__init__()
        channels, *self.size = shape
        self.embed_class = nn.Linear(classes, math.prod(self.size))
        self.embed_image = nn.Conv2d(channels, channels, 1)
        self.layers = nn.Sequential()
        for maps, wider in zip((channels + 1, *MAPS), MAPS, strict=False):
            self.layers.append(nn.Conv2d(maps, wider, 3, stride=2, padding=1, bias=False))
            self.layers.append(BatchNorm2d(wider))
            self.layers.append(nn.LeakyReLU())
        self.layers.append(nn.Flatten())
        self.layers.append(nn.Linear(MAPS[-1] * math.prod(_smallest(self.size)), outputs))

    def forward(self, inputs: Tensor, classes: Tensor) -> Tensor:
        channel = self.embed_class(classes).view(-1, 1, *self.size)
        code: Tensor = self.layers(torch.cat([self.embed_image(inputs), channel], 1))
        return code


class ImageDecoder(Decoder):
    """Transposed convolutions from class and latent vector to an image with values in [0, 1] (App. C of Yao 2021).

    A linear layer to 256 maps of a sixteenth of the size; four 3x3 transposed convolutions of stride 2 to 128, 64, 32
    and 32 maps, each with batch norm and leaky ReLU; a convolution to C maps; a sigmoid. Where a side is no multiple of
    16 the last transposed convolution has no output padding and the last convolution cuts to size: 31 to 28 by 4x4 for
    Fashion-MNIST, as published.

    Args:
        shape: ``(C, H, W)`` of one image.
        classes: K.
        latent: J.

    Shapes: ``(N, K), (N, J) -> (N, C, H, W)``.

    Example:
        >>> ImageDecoder((1, 28, 28), classes=10, latent=25)(torch.zeros(2, 10), torch.zeros(2, 25)).shape
        torch.Size([2, 1, 28, 28])
    """

    def __init__(self, shape: Shape, classes: int, latent: int) -> None:
        super().__init__()
        channels, height, width = shape
        self.start = (MAPS[-1], *_smallest([height, width]))
        self.enter = nn.Linear(classes + latent, math.prod(self.start))
        down = MAPS[::-1]
        even = (int(height % 16 == 0), int(width % 16 == 0))
        self.layers = nn.Sequential()
        for maps, narrower in zip(down, (*down[1:], MAPS[0]), strict=True):
            padding = even if len(self.layers) == 3 * (len(MAPS) - 1) else 1
            self.layers.append(nn.ConvTranspose2d(maps, narrower, 3, 2, padding=1, output_padding=padding, bias=False))
            self.layers.append(BatchNorm2d(narrower))
            self.layers.append(nn.LeakyReLU())
        kernel = (3 if even[0] else 16 - height % 16, 3 if even[1] else 16 - width % 16)
        self.layers.append(nn.Conv2d(MAPS[0], channels, kernel, padding=even))

    def forward(self, classes: Tensor, latent: Tensor) -> Tensor:
        maps = self.enter(torch.cat([latent, classes], -1)).view(-1, *self.start)
        image: Tensor = self.layers(maps).sigmoid()
        return image


class VectorEncoder(Encoder):
    """A multi-layer perceptron over features and class, for tables and points.

    Args:
        shape: ``(F,)`` of one example.
        classes: K.
        outputs: D.
        width: units of the two hidden layers.

    Shapes: ``(N, F), (N, K) -> (N, D)``.

    Example:
        >>> VectorEncoder((2,), classes=3, outputs=4)(torch.zeros(5, 2), torch.zeros(5, 3)).shape
        torch.Size([5, 4])
    """

    def __init__(self, shape: Shape, classes: int, outputs: int, width: int = 128) -> None:
        super().__init__()
        self.layers = _perceptron(math.prod(shape) + classes, outputs, width)

    def forward(self, inputs: Tensor, classes: Tensor) -> Tensor:
        code: Tensor = self.layers(torch.cat([inputs.flatten(1), classes], -1))
        return code


class VectorDecoder(Decoder):
    """A multi-layer perceptron from class and latent vector to features, without bounds.

    Args:
        shape: ``(F,)`` of one example.
        classes: K.
        latent: J.
        width: units of the two hidden layers.

    Shapes: ``(N, K), (N, J) -> (N, F)``.

    Example:
        >>> VectorDecoder((2,), classes=3, latent=1)(torch.zeros(5, 3), torch.zeros(5, 1)).shape
        torch.Size([5, 2])
    """

    def __init__(self, shape: Shape, classes: int, latent: int, width: int = 128) -> None:
        super().__init__()
        self.shape = shape
        self.layers = _perceptron(classes + latent, math.prod(shape), width)

    def forward(self, classes: Tensor, latent: Tensor) -> Tensor:
        features: Tensor = self.layers(torch.cat([latent, classes], -1)).view(-1, *self.shape)
        return features


def encoder(shape: Shape, classes: int, outputs: int) -> Encoder:
    """The encoder for examples of ``shape``: convolutions for images, a perceptron for anything else.

    Example:
        >>> type(encoder((1, 28, 28), 10, 25)).__name__
        'ImageEncoder'
    """
    return (ImageEncoder if len(shape) == 3 else VectorEncoder)(shape, classes, outputs)


def decoder(shape: Shape, classes: int, latent: int) -> Decoder:
    """The decoder to examples of ``shape``: convolutions for images, a perceptron for anything else.

    Example:
        >>> type(decoder((2,), 2, 1)).__name__
        'VectorDecoder'
    """
    return (ImageDecoder if len(shape) == 3 else VectorDecoder)(shape, classes, latent)


def _perceptron(inputs: int, outputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, outputs)
    )


def _smallest(size: list[int]) -> list[int]:
    """Height and width after halving four times, rounding up."""
    return [math.ceil(side / 2 ** len(MAPS)) for side in size]
