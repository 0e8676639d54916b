"""The kernels of small convolutions beside torch's: in Triton's interpreter on a CPU, for real on a GPU."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from truelabel.networks.conv_stack import Stage, _fused

pytest.importorskip("triton")
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
# Products of a GPU are rounded to ten bits, those of the interpreter are not; another place of a pool may then win.
OF_VALUES, OF_GRADIENTS = (5e-3, 0.1) if ON_GPU else (1e-5, 1e-5)

SHAPES: dict[str, tuple[tuple[int, ...], list[tuple[int, int, int]]]] = {
    "as LeNet-5": ((3, 1, 28, 28), [(6, 5, 2), (16, 5, 2), (120, 5, 1)]),
    "several channels, other kernels": ((2, 3, 6, 10), [(5, 3, 1), (7, 5, 2)]),
    "sizes that pooling does not divide": ((2, 2, 7, 11), [(4, 3, 2), (3, 3, 2)]),
    "wider than a piece": ((2, 2, 5, 70), [(4, 3, 1), (3, 3, 2)]),
    "one stage": ((5, 4, 4, 4), [(3, 1, 1)]),
    "more margin than maps": ((3, 1, 2, 2), [(3, 1, 2), (4, 5, 1), (5, 3, 1)]),
    "many maps before many": ((2, 2, 4, 5), [(40, 3, 1), (33, 5, 1), (3, 3, 1)]),
    "many maps, whose matrices are formed": ((2, 3, 7, 11), [(40, 3, 1), (50, 3, 1)]),
    "many maps before few": ((2, 3, 7, 11), [(40, 3, 2), (7, 3, 2)]),
}


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """What no kernel writes is no number, rather than what happens to lie there."""

    empty = Tensor.new_empty

    def new_empty(like: Tensor, *size: Any, **more: Any) -> Tensor:
        room = empty(like, *size, **more)
        return room.fill_(float("nan")) if room.is_floating_point() else room

    monkeypatch.setattr(Tensor, "new_empty", new_empty)


def stages_of(channels: int, described: list[tuple[int, int, int]]) -> list[Stage]:
    stages = []
    for outputs, size, pool in described:
        weight = torch.randn(outputs, channels, size, size) / (size * channels**0.5)
        stages.append(Stage(weight.to(DEVICE).requires_grad_(), torch.randn(outputs, device=DEVICE).mul_(0.1), pool))
        stages[-1].bias.requires_grad_()
        channels = outputs
    return stages


def plainly(inputs: Tensor, stages: list[Stage]) -> Tensor:
    """In float64, in torch's own words."""
    maps = inputs.double()
    for weight, bias, pool in stages:
        maps = torch.nn.functional.conv2d(maps, weight.double(), bias.double(), padding="same").relu()
        maps = torch.nn.functional.max_pool2d(maps, pool)
    return maps


@pytest.mark.parametrize("name", SHAPES)
def test_values_and_gradients_are_those_of_torch(name: str) -> None:
    shape, described = SHAPES[name]
    inputs, stages = torch.randn(shape, device=DEVICE).requires_grad_(), stages_of(shape[1], described)
    leaves = [inputs, *(tensor for stage in stages for tensor in stage[:2])]
    expected = plainly(inputs, stages)
    values = _fused(inputs, stages)
    assert_near(values, expected, OF_VALUES)
    weights = torch.randn_like(values)
    wanted = torch.autograd.grad(expected, leaves, weights.double())
    for ours, theirs in zip(torch.autograd.grad(values, leaves, weights), wanted, strict=True):
        assert ours.is_contiguous() or ours.shape == inputs.shape
        assert_near(ours, theirs, OF_GRADIENTS)


def assert_near(ours: Tensor, theirs: Tensor, tolerance: float) -> None:
    assert ours.shape == theirs.shape
    assert (ours - theirs).norm() <= tolerance * theirs.norm()


def test_inputs_without_gradient_get_none() -> None:
    stages = stages_of(1, [(2, 3, 2)])
    values = _fused(torch.randn(2, 1, 4, 4, device=DEVICE), stages)
    values.sum().backward()
    assert stages[0].weight.grad is not None
    with torch.no_grad():
        assert not _fused(torch.randn(2, 1, 4, 4, device=DEVICE), stages).requires_grad
