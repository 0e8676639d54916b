from __future__ import annotations

import pytest
import torch
from torch import nn

from truelabel import networks
from truelabel.networks import MLP, NETWORKS, LeNet5, Network, ResNet, TannoCNN, UNet, WideResNet, build, check_network


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((20,), MLP),
        ((30, 4), MLP),
        ((1, 8, 8), LeNet5),
        ((1, 32, 32), LeNet5),
        ((1, 3, 8), ResNet),
        ((1, 33, 32), ResNet),
        ((3, 32, 32), ResNet),
    ],
)
def test_auto_follows_the_shape(shape: tuple[int, ...], kind: type[Network]) -> None:
    network = build("auto", shape).eval()
    assert type(network) is kind
    assert network(torch.zeros(2, *shape)).shape == (2, network.features)


@pytest.mark.parametrize(
    ("name", "shape", "features", "kind"),
    [
        ("mlp", (3, 4), 128, MLP),
        ("mlp:2000", (2,), 2000, MLP),
        ("tanno-cnn:128", (1, 96, 96), 128, TannoCNN),
        ("unet:32", (4, 20, 20), 32, UNet),
        ("wrn-16-4", (3, 32, 32), 256, WideResNet),
        ("wrn-28-2", (1, 28, 28), 128, WideResNet),
    ],
)
def test_names_carry_sizes(name: str, shape: tuple[int, ...], features: int, kind: type[Network]) -> None:
    with torch.device("meta"):
        network = build(name, shape)
        assert type(network) is kind
        assert network.features == network(torch.zeros(1, *shape)).shape[-1] == features


def test_sizes_reach_the_network() -> None:
    with torch.device("meta"):
        assert count(build("mlp:2000", (2,))) == count(MLP(2, 2000))
        assert count(build("tanno-cnn:128", (1, 8, 8))) == count(TannoCNN(1, (128, 128, 128, 128)))
        assert count(build("wrn-16-4", (1, 8, 8))) == count(WideResNet(16, 4, channels=1))
        assert count(build("lenet-5", (3, 12, 28))) == count(LeNet5(3, (12, 28)))


@pytest.mark.parametrize(
    ("shape", "depth"), [((1, 2, 2), 1), ((1, 4, 3), 2), ((1, 8, 8), 3), ((1, 9, 9), 4), ((1, 4, 4, 4), 2)]
)
def test_unet_has_fewer_levels_on_small_images(shape: tuple[int, ...], depth: int) -> None:
    network = build("unet", shape)
    assert isinstance(network, UNet)
    assert len(network.down) == depth
    assert network(torch.randn(2, *shape)).shape == (2, *shape[1:], 16)


def test_modules_are_adapted_and_networks_kept() -> None:
    own = MLP(4)
    assert build(own, (4,)) is own
    network = build(nn.Conv2d(3, 5, 3, padding=1), (3, 8, 6))
    assert network(torch.zeros(2, 3, 8, 6)).shape == (2, 8, 6, 5)


def test_functions_get_the_shape() -> None:
    asked: list[tuple[int, ...]] = []

    def make(shape: tuple[int, ...]) -> nn.Module:
        asked.append(shape)
        return nn.Sequential(nn.Flatten(), nn.Linear(24, 9))

    network = build(make, (2, 3, 4))
    assert asked == [(2, 3, 4)]
    assert network.features == 9
    assert isinstance(build(NETWORKS["lenet-5"], (1, 8, 8)), LeNet5)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        (
            "vgg",
            (3, 8, 8),
            "^unknown network 'vgg': choose from auto, mlp, lenet-5, .*wrn-DEPTH-WIDTH, mlp:WIDTH",
        ),
        ("lenet-5:3", (1, 8, 8), "^unknown network 'lenet-5:3'"),
        ("", (3,), "^unknown network ''"),
        ("mlp:", (3,), "^network 'mlp:' needs a positive whole number after the colon, as in 'mlp:64'$"),
        ("mlp:0", (3,), "needs a positive whole number"),
        ("unet:big", (1, 8, 8), "network 'unet:big' needs a positive whole number"),
        ("wrn-27-2", (3, 8, 8), r"depth=27 of a wide ResNet must be 6 n \+ 4: use 10, 16, 22, 28"),
        ("wrn-28-0", (3, 8, 8), "width=0"),
        (
            "lenet-5",
            (64,),
            r"^network 'lenet-5' takes \(C, H, W\) images, got 64 flat features: use network 'mlp'$",
        ),
        ("wrn-28-2", (64,), "network 'wrn-28-2' takes .* use network 'mlp'"),
        ("wrn-28-2-cifar", (1, 8, 8), "'wrn-28-2-cifar' takes images with 3 channels, got 1: use network 'wrn-28-2'$"),
        (
            "resnet-34",
            (28, 28),
            r"network 'resnet-34' takes \(C, H, W\) images, got examples of shape \(28, 28\)",
        ),
        ("auto", (1, 8, 8, 8), r"takes \(C, H, W\) images, got examples of shape \(1, 8, 8, 8\)"),
        (
            "lenet-5",
            (1, 3, 9),
            r"'lenet-5' needs .* at least 4 x 4 pixels, got shape \(1, 3, 9\): use network 'resnet-18'",
        ),
        ("collier-cnn", (3, 27, 32), "'collier-cnn' needs .* at least 28 x 28 pixels"),
        ("tanno-cnn", (3, 1, 2), "'tanno-cnn' needs .* at least 2 x 2 pixels"),
        ("unet", (64,), r"network 'unet' takes \(C, H, W\) images or \(C, D, H, W\) volumes"),
        ("unet", (3, 1, 1), "network 'unet' needs more than one pixel"),
        ("mlp", (), r"shape=\(\) of one example must have at least one axis"),
        ("mlp", (3, 0), r"shape=\(3, 0\)"),
    ],
)
def test_one_line_says_what_is_wrong(name: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message) as raised:
        build(name, shape)
    assert "\n" not in str(raised.value)


def test_other_things_are_refused() -> None:
    with pytest.raises(TypeError, match=r"network=3 must be a name, a torch\.nn\.Module or a function"):
        build(3, (4,))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"must be a torch\.nn\.Module, got tuple"):
        build(lambda shape: shape, (4,))  # type: ignore[arg-type, return-value]


def test_exports_are_sorted_and_there() -> None:
    listed = networks.__all__
    assert len(set(listed)) == len(listed)
    assert all(hasattr(networks, name) for name in listed)


@pytest.mark.parametrize("name", [*NETWORKS, "wrn-16-4", "mlp:3", "unet:8", "tanno-cnn:4"])
def test_names_of_networks_are_known_without_a_shape(name: str) -> None:
    check_network(name)


@pytest.mark.parametrize("name", ["foo", "wrn-28", "mlp:", "mlp:0", "resnet-18:3", ""])
def test_other_names_are_not(name: str) -> None:
    with pytest.raises(ValueError, match=r"^(unknown network|network .* needs a positive whole number)"):
        check_network(name)
