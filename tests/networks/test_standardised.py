from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from truelabel.networks import Network, Standardised, WideResNet, build


class Pixels(Network):
    """What it is given."""

    features = 2

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.movedim(1, -1)


@pytest.mark.parametrize("space", [(5, 4), (3, 5, 4)])
def test_mean_and_deviation_of_every_channel_are_taken_out(space: tuple[int, ...]) -> None:
    inputs = torch.randn(6, 2, *space, dtype=torch.double)
    values = inputs.movedim(1, -1).reshape(-1, 2).numpy()
    network = Standardised(Pixels(), values.mean(0).tolist(), values.std(0).tolist()).double()
    found = network(inputs).reshape(-1, 2).numpy()
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(found.std(0), 1, atol=1e-6)


def test_that_of_cifar_is_the_plain_network_on_standardised_pictures() -> None:
    # Numbers of uncertainty-baselines, which the published code of Englesson 2023 loads CIFAR with.
    network = build("wrn-28-2-cifar", (3, 8, 8)).eval()
    assert isinstance(network, Standardised)
    assert isinstance(network.network, WideResNet)
    plain = build("wrn-28-2", (3, 8, 8)).eval()
    plain.load_state_dict(network.network.state_dict())
    pictures = torch.rand(2, 3, 8, 8)
    colours = [(0.4914, 0.2470), (0.4822, 0.2435), (0.4465, 0.2616)]
    own = torch.stack([(pictures[:, c] - mean) / std for c, (mean, std) in enumerate(colours)], 1)
    with torch.no_grad():
        torch.testing.assert_close(network(pictures), plain(own))


def test_statistics_are_no_parameters_and_travel_with_the_state() -> None:
    network = Standardised(WideResNet(10, 1), (0.1, 0.2, 0.3), (1.0, 2.0, 3.0))
    other = Standardised(WideResNet(10, 1), (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    assert {name.split(".")[0] for name, _ in network.named_parameters()} == {"network"}
    other.load_state_dict(network.state_dict())
    torch.testing.assert_close(other.mean, torch.tensor([0.1, 0.2, 0.3]))
    assert network.features == 64


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match=r"mean=\(0.5,\) and deviation=\(1.0, 1.0\) must have a number"):
        Standardised(Pixels(), (0.5,), (1.0, 1.0))
    with pytest.raises(ValueError, match=r"deviation=\(1.0, 0.0\) must be positive"):
        Standardised(Pixels(), (0.5, 0.5), (1.0, 0.0))
