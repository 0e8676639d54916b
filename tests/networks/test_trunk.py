from __future__ import annotations

import pytest
import torch
from torch import nn

from truelabel.networks import Trunk
from truelabel.networks.unet import block


@pytest.mark.parametrize("space", [(5, 7), (1, 9), (3, 4, 5)], ids=str)
@pytest.mark.parametrize("blocks", [1, 3])
def test_it_is_blocks_of_the_unet_with_features_last(space: tuple[int, ...], blocks: int) -> None:
    torch.manual_seed(0)
    trunk = Trunk(4, blocks, dims=len(space))
    torch.manual_seed(0)
    chain = nn.Sequential(*[block(4, 4, stride=1, dims=len(space)) for _ in range(blocks)])
    features = torch.randn(2, *space, 4)
    maps = torch.stack(features.unbind(-1), 1)
    expected = torch.stack(chain(maps).unbind(1), -1)
    torch.testing.assert_close(trunk(features), expected)
    assert trunk.features == 4


@pytest.mark.parametrize(("dims", "kernel"), [(2, 9), (3, 27)])
def test_parameter_count(dims: int, kernel: int) -> None:
    # Twice: a convolution without bias, scale and shift of the norm, one slope.
    count = sum(parameter.numel() for parameter in Trunk(6, blocks=2, dims=dims).parameters())
    assert count == 2 * 2 * (kernel * 6 * 6 + 2 * 6 + 1)


def test_a_pixel_sees_its_neighbours() -> None:
    trunk = Trunk(3, blocks=1).double()
    (chain,) = trunk.blocks
    assert isinstance(chain, nn.Sequential)
    # Without the norms, which join all pixels, two convolutions reach two pixels far.
    trunk.blocks[0] = nn.Sequential(*[part for part in chain if not isinstance(part, nn.InstanceNorm2d)])
    features = torch.randn(1, 11, 11, 3, dtype=torch.double, requires_grad=True)
    (gradient,) = torch.autograd.grad(trunk(features)[0, 5, 5].sum(), features)
    reached = gradient[0].any(-1)
    assert reached[3:8, 3:8].all()
    assert reached.sum() == 25


@pytest.mark.parametrize("units", [(7,), (3, 4, 5)], ids=str)
def test_without_space_units_do_not_see_each_other(units: tuple[int, ...]) -> None:
    trunk = Trunk(6, blocks=2, dims=0)
    features = torch.randn(*units, 6)
    hidden = features.flatten(0, -2)
    for part in trunk.blocks:
        assert isinstance(part, nn.Sequential)
        linear, activation = part
        assert isinstance(linear, nn.Linear)
        assert isinstance(activation, nn.PReLU)
        hidden = hidden @ linear.weight.T + linear.bias
        hidden = torch.where(hidden > 0, hidden, activation.weight * hidden)
    torch.testing.assert_close(trunk(features), hidden.view(*units, 6))


@pytest.mark.parametrize("dims", [0, 2, 3])
def test_a_gradient_reaches_every_parameter(dims: int) -> None:
    trunk = Trunk(4, dims=dims)
    features = torch.randn(2, *[5] * dims, 4)
    (trunk(features) * torch.randn_like(features)).sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in trunk.parameters())


def test_arguments_are_checked() -> None:
    with pytest.raises(ValueError, match=r"^dims=1 of a trunk must be 0 \(no space\), 2 \(images\) or 3 \(volumes\)$"):
        Trunk(4, dims=1)
    with pytest.raises(ValueError, match="^blocks=0 of a trunk must be at least 1$"):
        Trunk(4, blocks=0)
