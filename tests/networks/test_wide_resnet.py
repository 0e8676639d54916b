from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional

from truelabel.networks import WideResNet


def by_hand(depth: int, width: int, channels: int) -> int:
    blocks = (depth - 4) // 6
    total, last = 9 * channels * 16, 16
    for maps in (16 * width, 32 * width, 64 * width):
        first = 2 * last + 9 * last * maps + 2 * maps + 9 * maps * maps
        # With width 1 the first group keeps 16 maps and needs no 1x1 shortcut.
        first += last * maps if last != maps else 0
        total += first + (blocks - 1) * (4 * maps + 18 * maps * maps)
        last = maps
    return total + 2 * last


@pytest.mark.parametrize(("depth", "width", "channels"), [(28, 2, 3), (10, 1, 1), (16, 4, 3), (40, 2, 3)])
def test_parameter_count(depth: int, width: int, channels: int) -> None:
    with torch.device("meta"):
        network = WideResNet(depth, width, channels)
    assert sum(parameter.numel() for parameter in network.parameters()) == by_hand(depth, width, channels)


def test_parameter_count_as_published() -> None:
    with torch.device("meta"):
        small, large = WideResNet(28, 2), WideResNet(28, 10)
    # With a head of ten classes: 1.47 million, and 36.5 million in Table 4 of Zagoruyko 2016.
    assert sum(parameter.numel() for parameter in small.parameters()) + 1290 == 1_467_610
    assert sum(parameter.numel() for parameter in large.parameters()) + 6410 == 36_479_194


@pytest.mark.parametrize("size", [(32, 32), (31, 17), (5, 8)])
def test_three_groups_halve_twice(size: tuple[int, int]) -> None:
    with torch.device("meta"):
        network = WideResNet(10, 2)
        sizes: list[tuple[int, ...]] = []
        for layer in list(network.layers)[1:4]:
            layer.register_forward_hook(lambda _, inputs, output: sizes.append(tuple(output.shape[1:])))
        assert network(torch.zeros(2, 3, *size)).shape == (2, 128)
    height, width = size
    expected = [(32 * 2**i, -(-height // 2**i), -(-width // 2**i)) for i in range(3)]
    assert sizes == expected


def test_pre_activation_leaves_the_shortcut_untouched() -> None:
    network = WideResNet(16, 2).eval()
    convolutions = [layer for layer in network.modules() if isinstance(layer, nn.Conv2d)]
    for name, weight in network.named_parameters():
        if name.endswith("conv2.weight"):
            nn.init.zeros_(weight)
    shortcuts = [layer for layer in convolutions if layer.kernel_size == (1, 1)]
    assert [layer.stride for layer in shortcuts] == [(1, 1), (2, 2), (2, 2)]
    inputs = torch.randn(2, 3, 12, 12)
    with torch.no_grad():
        maps = convolutions[0](inputs)
        for layer in shortcuts:
            maps = layer(maps)
        # Nothing is rectified on the way; only the last batch norm (fresh statistics) and ReLU follow.
        expected = functional.relu(maps / (1 + 1e-5) ** 0.5).mean((2, 3))
        torch.testing.assert_close(network(inputs), expected)


def test_batch_norm_and_initialisation_are_those_of_the_paper() -> None:
    network = WideResNet(28, 2)
    norms = [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert len(norms) == 25
    assert {(norm.eps, norm.momentum) for norm in norms} == {(1e-5, 0.1)}
    for key, weight in network.named_parameters():
        if weight.ndim == 4 and weight.numel() > 30_000:
            fan_in = weight[0].numel()
            assert abs(float(weight.detach().std()) / (2 / fan_in) ** 0.5 - 1) < 0.02, key


@pytest.mark.parametrize("depth", [4, 27, -2])
def test_illegal_depths_are_refused(depth: int) -> None:
    with pytest.raises(ValueError, match=f"^depth={depth} of a wide ResNet must be 6 n \\+ 4"):
        WideResNet(depth)


def test_width_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="width=0 of a wide ResNet must be at least 1"):
        WideResNet(28, 0)
