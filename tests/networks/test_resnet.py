from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.networks import ResNet, Stem, resnet18, resnet34, resnet50

# Published totals with a class head: 10 classes for the small stem, 1000 for ImageNet's (torchvision).
PUBLISHED: list[tuple[int, Stem, int, int]] = [
    (18, "cifar", 10, 11_173_962),
    (34, "cifar", 10, 21_282_122),
    (50, "cifar", 10, 23_520_842),
    (18, "imagenet", 1000, 11_689_512),
    (34, "imagenet", 1000, 21_797_672),
    (50, "imagenet", 1000, 25_557_032),
]


@pytest.mark.parametrize(("depth", "stem", "classes", "total"), PUBLISHED)
def test_parameter_count(depth: int, stem: Stem, classes: int, total: int) -> None:
    with torch.device("meta"):
        network = ResNet(depth, stem=stem)
    head = (network.features + 1) * classes
    assert sum(parameter.numel() for parameter in network.parameters()) + head == total


def test_the_functions_set_depth_channels_and_stem() -> None:
    with torch.device("meta"):
        networks = [build(channels=4, stem="imagenet") for build in (resnet18, resnet34, resnet50)]
    assert [network.features for network in networks] == [512, 512, 2048]
    assert [len(network.layer3) for network in networks] == [2, 6, 6]
    assert {tuple(network.conv1.weight.shape) for network in networks} == {(64, 4, 7, 7)}


@pytest.mark.parametrize(("stem", "size", "last"), [("cifar", 32, 4), ("imagenet", 32, 1), ("imagenet", 224, 7)])
def test_the_stem_sets_the_resolution(stem: Stem, size: int, last: int) -> None:
    with torch.device("meta"):
        network = resnet18(stem=stem)
        sizes: list[torch.Size] = []
        network.layer4.register_forward_hook(lambda _, inputs, output: sizes.append(output.shape))
        features = network(torch.zeros(2, 3, size, size))
    assert sizes == [(2, 512, last, last)]
    assert features.shape == (2, 512)


def test_names_are_those_of_torchvision() -> None:
    with torch.device("meta"):
        basic, bottleneck = set(resnet18().state_dict()), set(resnet50().state_dict())
    assert {"conv1.weight", "bn1.running_mean", "layer1.0.bn2.bias", "layer4.1.conv2.weight"} <= basic
    assert {"layer2.0.downsample.0.weight", "layer2.0.downsample.1.running_var"} <= basic
    assert not any(key.startswith("layer1.0.downsample") for key in basic)
    assert {"layer1.0.downsample.0.weight", "layer3.5.bn3.num_batches_tracked"} <= bottleneck
    # torchvision's ResNet-18 has 122 entries and ResNet-50 has 320, of which two are the head.
    assert (len(basic), len(bottleneck)) == (120, 318)


@pytest.mark.parametrize(("depth", "norm"), [(18, "bn2"), (50, "bn3")])
def test_without_residuals_only_shortcuts_remain(depth: int, norm: str) -> None:
    network = ResNet(depth).eval()
    shortcuts = []
    for stage in (network.layer1, network.layer2, network.layer3, network.layer4):
        assert isinstance(stage, nn.Sequential)
        for block in stage:
            nn.init.zeros_(block.get_parameter(f"{norm}.weight"))
        shortcuts.append(stage[0].get_submodule("downsample"))
    inputs = torch.randn(2, 3, 16, 16)
    with torch.no_grad():
        expected = functional.relu(network.bn1(network.conv1(inputs)))
        for shortcut in shortcuts:
            expected = functional.relu(shortcut(expected))
        torch.testing.assert_close(network(inputs), expected.mean((2, 3)))


def test_a_basic_block_adds_before_the_last_rectifier() -> None:
    block = resnet18().layer1[0].eval()
    maps = torch.randn(2, 64, 5, 5)

    def convolve(values: Tensor, number: int) -> Tensor:
        weight = block.get_parameter(f"conv{number}.weight")
        # Batch norm with fresh statistics divides by sqrt(1 + eps) only.
        return functional.conv2d(values, weight, padding=1) / math.sqrt(1 + 1e-5)

    with torch.no_grad():
        expected = functional.relu(maps + convolve(functional.relu(convolve(maps, 1)), 2))
        torch.testing.assert_close(block(maps), expected, rtol=1e-4, atol=1e-5)


def test_convolutions_start_from_kaiming_with_fan_out() -> None:
    network = resnet18()
    for key, weight in network.named_parameters():
        if weight.ndim == 4 and weight.numel() > 30_000:
            fan_out = weight.shape[0] * weight.shape[2] * weight.shape[3]
            assert abs(float(weight.detach().std()) / (2 / fan_out) ** 0.5 - 1) < 0.02, key


def test_other_depths_and_stems_are_refused() -> None:
    with pytest.raises(ValueError, match="depth=101 of a ResNet must be one of 18, 34, 50"):
        ResNet(101)
    with pytest.raises(ValueError, match="stem='big' of a ResNet must be 'cifar' or 'imagenet'"):
        ResNet(18, stem="big")  # type: ignore[arg-type]
