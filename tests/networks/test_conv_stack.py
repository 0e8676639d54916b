"""Where small convolutions use kernels of their own, and that nothing else changes."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from truelabel.networks import LeNet5
from truelabel.networks import conv_stack as module
from truelabel.networks.conv_stack import Stage, conv_stack, is_fused

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"


def stages_of(channels: int, outputs: int, pool: int, kind: torch.dtype = torch.float32) -> list[Stage]:
    weight = torch.randn(outputs, channels, 3, 3, device=DEVICE, dtype=kind)
    return [Stage(weight, torch.randn(outputs, device=DEVICE, dtype=kind), pool)]


def test_without_kernels_it_is_torch() -> None:
    inputs = torch.randn(2, 2, 7, 11, device=DEVICE, dtype=torch.double)
    stages = stages_of(2, 4, 2, torch.double) + stages_of(4, 3, 1, torch.double)
    maps: Tensor = inputs
    for weight, bias, pool in stages:
        maps = torch.nn.functional.conv2d(maps, weight, bias, padding="same").relu()
        maps = torch.nn.functional.max_pool2d(maps, pool)
    torch.testing.assert_close(conv_stack(inputs, stages), maps)


def test_kernels_are_for_single_precision_on_a_gpu() -> None:
    pytest.importorskip("triton")
    inputs, stages = torch.randn(2, 1, 4, 4, device=DEVICE), stages_of(1, 2, 2)
    assert is_fused(inputs, stages) == ON_GPU
    assert not is_fused(inputs.double(), stages)
    with torch.autocast("cuda", torch.bfloat16, enabled=ON_GPU):
        assert not is_fused(inputs, stages)


def test_what_does_not_fit_is_left_to_torch() -> None:
    inputs, (good,) = torch.zeros(2, 1, 4, 4), stages_of(1, 2, 2)
    assert module._fits(inputs, [good])
    assert module._fits(inputs, [good, *stages_of(2, 3, 1)])
    assert not module._fits(inputs[0], [good])
    assert not module._fits(inputs[:0], [good]), "no image"
    assert not module._fits(inputs.expand(2, 3, 4, 4), [good]), "channels"
    assert not module._fits(inputs, [good, *stages_of(1, 3, 1)]), "channels between stages"
    assert not module._fits(inputs, [good, *stages_of(2, 3, 4)]), "nothing left to pool"
    assert not module._fits(inputs, [Stage(torch.zeros(2, 1, 2, 2), torch.zeros(2))]), "even kernel"
    assert not module._fits(inputs, [Stage(torch.zeros(2, 1, 3, 5), torch.zeros(2))]), "kernel that is no square"
    assert not module._fits(inputs, [Stage(torch.zeros(2, 1, 3, 3), torch.zeros(1))]), "bias"
    assert not module._fits(torch.empty(2**23, 1, 4, 4, device="meta"), [good]), "memory"
    with pytest.raises(RuntimeError, match="to have 1 channels, but got 3"):
        conv_stack(torch.zeros(2, 3, 4, 4), [Stage(good.weight.cpu(), good.bias.cpu())])


def test_layers_that_are_not_as_built_are_called() -> None:
    network, seen = LeNet5(), []
    assert network._as_built()
    handle = network.layers[0].register_forward_hook(lambda *told: seen.append(told))
    assert not network._as_built()
    network(torch.zeros(1, 1, 28, 28))
    assert len(seen) == 1
    handle.remove()
    assert network._as_built()
    network.layers[1] = torch.nn.LeakyReLU()
    assert not network._as_built()


@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
def test_what_is_no_number_stays_none() -> None:
    inputs = torch.zeros(2, 1, 28, 28, device=DEVICE)
    inputs[0, 0, 14, 14] = torch.nan
    features = LeNet5().to(DEVICE)(inputs)
    assert features[0].isnan().any()
    assert not features[1].isnan().any()


@pytest.mark.skipif(not ON_GPU, reason="needs a GPU")
def test_equal_inputs_give_equal_bits_and_lenet_uses_the_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    network, inputs = LeNet5().to(DEVICE), torch.rand(256, 1, 28, 28, device=DEVICE)
    found = []
    for _ in range(2):
        network.zero_grad()
        network(inputs).square().sum().backward()
        found.append([parameter.grad.clone() for parameter in network.parameters() if parameter.grad is not None])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))
    monkeypatch.setattr(module, "is_fused", lambda *told: False)
    network.zero_grad()
    network(inputs).square().sum().backward()
    for ours, parameter in zip(found[0], network.parameters(), strict=True):
        assert parameter.grad is not None
        assert (ours - parameter.grad).norm() < 1e-2 * parameter.grad.norm()
