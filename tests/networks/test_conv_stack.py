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
