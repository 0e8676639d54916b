"""The kernels of group norm and leaky ReLU beside torch's: in Triton's interpreter on a CPU, for real on a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from truelabel.networks.group_norm import LeakyGroupNorm, _fused

pytest.importorskip("triton")
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"

SHAPES = {
    "several blocks": (2, (3, 128, 10, 10)),
    "one place": (2, (4, 32, 1, 1)),
    "three groups": (3, (2, 12, 5, 7)),
    "many channels": (2, (2, 512, 3, 3)),
}
IN_A_LARGE_NETWORK = (2, (128, 128, 28, 28))


def layer(groups: int, channels: int, shift: Tensor | None = None) -> LeakyGroupNorm:
    norm = LeakyGroupNorm(groups, channels, slope=0.1, shift=shift).to(DEVICE)
    with torch.no_grad():
        norm.weight.uniform_(-1, 2)
        norm.bias.normal_()
    return norm


def maps_of(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, offset: float = 1.0) -> Tensor:
    # Channels of a group differ in their means, too.
    maps = 2 * torch.randn(shape) + offset + torch.randn(shape[1], 1, 1)
    return maps.to(DEVICE, dtype).contiguous(memory_format=torch.channels_last).requires_grad_()


def plainly(norm: LeakyGroupNorm, maps: Tensor) -> Tensor:
    """In float64, in torch's own words."""
    shifted = maps.double() + (0 if norm.shift is None else norm.shift.double()[:, None, None])
    normed = functional.group_norm(shifted, norm.num_groups, norm.weight.double(), norm.bias.double(), norm.eps)
    return functional.leaky_relu(normed, norm.slope)


def assert_near(ours: Tensor, theirs: Tensor, tolerance: float = 2e-5) -> None:
    assert ours.shape == theirs.shape
    assert (ours - theirs).norm() <= tolerance * theirs.norm()


@pytest.mark.parametrize("name", [*SHAPES, *(["in a large network"] if ON_GPU else [])])
def test_values_and_gradients_are_those_of_torch(name: str) -> None:
    groups, shape = SHAPES.get(name, IN_A_LARGE_NETWORK)
    norm, maps = layer(groups, shape[1], shift=torch.randn(shape[1])), maps_of(shape)
    expected, values = plainly(norm, maps), _fused(norm, maps)
    assert values.is_contiguous(memory_format=torch.channels_last)
    assert_near(values, expected)
    weights = torch.randn_like(values)
    leaves = [maps, *norm.parameters()]
    wanted = torch.autograd.grad(expected, leaves, weights.double())
    for gradient, reference in zip(torch.autograd.grad(values, leaves, weights), wanted, strict=True):
        assert_near(gradient, reference)


def test_numbers_far_from_zero_keep_their_deviation() -> None:
    norm, maps = layer(2, 8), maps_of((4, 8, 9, 9), offset=3e3)
    assert_near(_fused(norm, maps), plainly(norm, maps), 1e-3)


def test_a_shift_may_be_left_out() -> None:
    norm, maps = layer(2, 4), maps_of((2, 4, 3, 3))
    values = _fused(norm, maps)
    assert_near(values, plainly(norm, maps))
    (ours,) = torch.autograd.grad(values.square().sum(), maps)
    (theirs,) = torch.autograd.grad(plainly(norm, maps).square().sum(), maps)
    assert_near(ours, theirs)


def test_half_precision_comes_back_in_its_own_kind() -> None:
    norm, maps = layer(2, 16), maps_of((4, 16, 6, 6), torch.bfloat16)
    values = _fused(norm, maps)
    assert values.dtype == torch.bfloat16
    assert_near(values, plainly(norm, maps), 5e-3)
    (ours,) = torch.autograd.grad(values.mean((-2, -1)).square().sum(), maps)
    (theirs,) = torch.autograd.grad(plainly(norm, maps).mean((-2, -1)).square().sum(), maps)
    assert ours.dtype == torch.bfloat16
    assert_near(ours, theirs, 2e-2)


def test_what_is_no_number_stays_none() -> None:
    norm, maps = layer(2, 4), maps_of((2, 4, 2, 2)).detach()
    maps[0, 3, 0, 0] = float("nan")
    values = _fused(norm, maps)
    assert values[0, 2:].isnan().all()
    assert values[0, :2].isfinite().all()
    assert values[1].isfinite().all()


def test_at_the_bend_the_gradient_is_torchs() -> None:
    norm, maps = layer(2, 4), maps_of((2, 4, 3, 3))
    with torch.no_grad():
        maps.zero_()
        norm.bias.zero_()
    _, ours = torch.autograd.grad(_fused(norm, maps).sum(), [maps, norm.bias])
    _, theirs = torch.autograd.grad(plainly(norm, maps).sum(), [maps, norm.bias])
    assert_near(ours, theirs)
