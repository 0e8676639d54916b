from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.nn import functional

from truelabel.networks import LeNet5


@pytest.mark.parametrize(
    ("channels", "size", "cells"), [(1, (28, 28), 49), (1, (8, 8), 4), (3, (33, 10), 16), (1, (4, 4), 1)]
)
def test_parameter_count(channels: int, size: tuple[int, int], cells: int) -> None:
    convolutions = (25 * channels + 1) * 6 + (25 * 6 + 1) * 16 + (25 * 16 + 1) * 120
    network = LeNet5(channels, size)
    assert sum(parameter.numel() for parameter in network.parameters()) == convolutions + (120 * cells + 1) * 84
    assert network(torch.zeros(2, channels, *size)).shape == (2, 84)


def test_layers_follow_the_published_order() -> None:
    network, inputs = LeNet5(), torch.randn(2, 1, 28, 28)
    w1, b1, w2, b2, w3, b3, w4, b4 = network.parameters()
    maps = functional.max_pool2d(functional.relu(functional.conv2d(inputs, w1, b1, padding="same")), 2)
    maps = functional.max_pool2d(functional.relu(functional.conv2d(maps, w2, b2, padding="same")), 2)
    maps = functional.relu(functional.conv2d(maps, w3, b3, padding="same"))
    expected = functional.relu(maps.reshape(2, -1) @ w4.T + b4)
    torch.testing.assert_close(network(inputs), expected)


def test_weights_start_glorot_uniform_and_biases_at_zero() -> None:
    # Fan in and fan out as Keras counts them: pixels of the kernel times maps.
    fans = [(25 * 1, 25 * 6), (25 * 6, 25 * 16), (25 * 16, 25 * 120), (120 * 49, 84)]
    layers = [layer for layer in LeNet5().layers if isinstance(layer, nn.Conv2d | nn.Linear)]
    for layer, (fan_in, fan_out) in zip(layers, fans, strict=True):
        bound = math.sqrt(6 / (fan_in + fan_out))
        assert 0.9 * bound < layer.weight.abs().max() <= bound
        assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.2)
        assert layer.bias is not None
        assert not layer.bias.any()


def test_too_small_images_are_refused() -> None:
    with pytest.raises(ValueError, match="size=3 x 28 is too small for LeNet-5"):
        LeNet5(size=(3, 28))
