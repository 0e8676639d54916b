from __future__ import annotations

import pytest
import torch

from truelabel.networks import MLP


def test_parameter_count_of_the_two_moons_network() -> None:
    # 2 x 2000 + 2000, then 2000 x 2000 + 2000.
    assert sum(parameter.numel() for parameter in MLP(2, width=2000).parameters()) == 6_000 + 4_002_000


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_it_is_a_chain_of_affine_maps_and_rectifiers(depth: int) -> None:
    network, inputs = MLP(12, width=5, depth=depth), torch.randn(7, 3, 4)
    expected = inputs.reshape(7, 12)
    parameters = list(network.parameters())
    assert len(parameters) == 2 * depth
    for weight, bias in zip(parameters[::2], parameters[1::2], strict=True):
        expected = (expected @ weight.T + bias).clamp_min(0)
    torch.testing.assert_close(network(inputs), expected)


@pytest.mark.parametrize("argument", ["inputs", "width", "depth"])
def test_sizes_below_one_are_refused(argument: str) -> None:
    sizes = {"inputs": 3, "width": 4, "depth": 2, argument: 0}
    with pytest.raises(ValueError, match=f"^{argument}=0 of an MLP must be at least 1$"):
        MLP(**sizes)
