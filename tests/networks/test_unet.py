from __future__ import annotations

import pytest
import torch
from torch import nn

from truelabel.networks import UNet


def by_hand(channels: int, width: int, depth: int, dims: int) -> int:
    """Parameters from the layer list of the published code, without its extra step."""

    def block(a: int, b: int) -> int:
        kernel = 9 if dims == 2 else 27
        return kernel * (a * b + b * b) + 2 * 2 * b + 2

    total = block(channels, width)
    for level in range(1, depth - 1):
        total += block(width * 2 ** (level - 1), width * 2**level)
    deepest = width * 2 ** (depth - 2)
    total += block(deepest, deepest)
    below = deepest
    for level in range(depth - 2, -1, -1):
        leaves = width * 2 ** (level - 1) if level else width
        total += block(below + width * 2**level, leaves)
        below = leaves
    return total


@pytest.mark.parametrize(
    ("channels", "width", "depth", "dims"),
    [(1, 16, 4, 2), (4, 32, 4, 2), (1, 24, 3, 2), (3, 8, 2, 2), (2, 4, 4, 3)],
)
def test_parameter_count(channels: int, width: int, depth: int, dims: int) -> None:
    with torch.device("meta"):
        network = UNet(channels, width, depth, dims)
    count = sum(parameter.numel() for parameter in network.parameters())
    assert count == by_hand(channels, width, depth, dims)


@pytest.mark.parametrize("size", [(16, 16), (28, 28), (9, 9), (13, 31), (10, 3), (1, 17), (180, 7)])
def test_any_size_comes_back(size: tuple[int, int]) -> None:
    assert UNet(width=2)(torch.randn(2, 1, *size)).shape == (2, *size, 2)


@pytest.mark.parametrize("size", [(9, 10, 11), (2, 16, 16)])
def test_volumes(size: tuple[int, int, int]) -> None:
    assert UNet(channels=2, width=3, dims=3)(torch.randn(1, 2, *size)).shape == (1, *size, 3)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_levels_halve_and_double(depth: int) -> None:
    network = UNet(width=2, depth=depth)
    shapes: list[tuple[int, ...]] = []
    for block in network.down:
        block.register_forward_hook(lambda _, inputs, output: shapes.append(tuple(output.shape[1:])))
    network(torch.randn(1, 1, 37, 40))
    widths = [2 * 2 ** min(level, max(depth - 2, 0)) for level in range(depth)]
    assert shapes == [(widths[i], -(-37 // 2**i), -(-40 // 2**i)) for i in range(depth)]


def test_the_last_block_joins_the_skip_with_twice_upsampled_maps() -> None:
    network = UNet(width=2, depth=2).eval()
    down, up = network.down, network.up
    image = torch.randn(1, 1, 12, 16)
    with torch.no_grad():
        skip = down[0](image)
        rise = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)(down[1](skip))
        expected = up[0](torch.cat((skip, rise), 1)).permute(0, 2, 3, 1)
        torch.testing.assert_close(network(image), expected)


def test_each_level_counts() -> None:
    # Silencing what comes up from below must change the answer: skips alone do not explain it.
    network, image = UNet(width=2).eval(), torch.randn(1, 1, 16, 16)
    with torch.no_grad():
        before = network(image)
        for parameter in network.down[3].parameters():
            parameter.zero_()
        assert not torch.allclose(network(image), before, atol=1e-3)


def test_contrast_of_each_image_does_not_matter() -> None:
    # The first convolution has no bias and instance norm follows it, so a scale per image cancels.
    network = UNet(width=4).eval()
    images = torch.randn(3, 1, 20, 20, generator=torch.Generator().manual_seed(0)) * 10
    scales = torch.tensor([0.5, 1.0, 7.0]).reshape(3, 1, 1, 1)
    with torch.no_grad():
        torch.testing.assert_close(network(images * scales), network(images), rtol=1e-2, atol=1e-3)


def test_images_that_shrink_to_one_pixel_are_refused() -> None:
    with pytest.raises(ValueError, match="^inputs of 8 x 5 pixels shrink to one in a U-Net of depth 4: lower depth$"):
        UNet()(torch.zeros(1, 1, 8, 5))
    assert UNet(depth=3)(torch.randn(1, 1, 8, 5)).shape == (1, 8, 5, 16)


@pytest.mark.parametrize("argument", ["width", "depth"])
def test_sizes_below_one_are_refused(argument: str) -> None:
    with pytest.raises(ValueError, match=f"{argument}=0 of a U-Net must be at least 1"):
        UNet(**{argument: 0})


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="dims=1 of a U-Net must be 2"):
        UNet(dims=1)
