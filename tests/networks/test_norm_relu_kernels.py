"""The kernels of batch norm and ReLU beside torch's: in Triton's interpreter on a CPU, for real on a GPU."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from truelabel.networks import norm_relu as module
from truelabel.networks.batch_norm import BatchNorm2d
from truelabel.networks.norm_relu import _fused

pytest.importorskip("triton")
ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"

SHAPES = {
    "several programs": (5, 32, 16, 16),
    "more rows than a multiple of a block": (3, 16, 7, 9),
    "several blocks of channels": (4, 130, 6, 5),
    "few channels": (2, 3, 5, 4),
}
IN_A_LARGE_NETWORK = (64, 32, 32, 32)


def layer(channels: int) -> BatchNorm2d:
    norm = BatchNorm2d(channels).to(DEVICE)
    with torch.no_grad():
        norm.weight.uniform_(-1, 2)
        norm.bias.normal_()
    return norm


def maps_of(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, offset: float = 1.0) -> Tensor:
    maps = (2 * torch.randn(shape) + offset).to(DEVICE, dtype).contiguous(memory_format=torch.channels_last)
    return maps.requires_grad_()


def plainly(norm: BatchNorm2d, maps: Tensor, added: Tensor | None) -> tuple[Tensor, nn.BatchNorm2d]:
    """In float64, in torch's own words."""
    theirs = nn.BatchNorm2d(norm.num_features).to(maps.device)
    theirs.load_state_dict(norm.state_dict())
    normed = theirs.double()(maps.double())
    return (normed if added is None else normed + added.double()).relu(), theirs


def test_programs_that_take_several_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MULTIPROCESSORS", 3)
    monkeypatch.setattr(module, "AT_ONCE", 1)
    test_values_and_gradients_are_those_of_torch("several programs", addition=True)
    test_values_and_gradients_are_those_of_torch("several blocks of channels", addition=False)


@pytest.mark.parametrize("addition", [False, True], ids=["alone", "with an addition"])
@pytest.mark.parametrize("name", [*SHAPES, *(["in a large network"] if ON_GPU else [])])
def test_values_and_gradients_are_those_of_torch(name: str, addition: bool) -> None:
    shape = SHAPES.get(name, IN_A_LARGE_NETWORK)
    norm, maps = layer(shape[1]), maps_of(shape)
    added = maps_of(shape) if addition else None
    expected, theirs = plainly(norm, maps, added)
    for _ in range(3):  # what programs count in is found at zero again
        before = {key: value.clone() for key, value in norm.state_dict().items()}
        values = _fused(norm, maps, added)
        assert_near(values, expected)
        assert values.is_contiguous(memory_format=torch.channels_last)
        for key in ("running_mean", "running_var"):
            assert_near(norm.state_dict()[key], theirs.state_dict()[key])
        weights = torch.randn_like(values)
        inputs = [maps] if added is None else [maps, added]
        ours = torch.autograd.grad(values, [*inputs, norm.weight, norm.bias], weights)
        leaves = [*inputs, theirs.weight, theirs.bias]
        wanted = torch.autograd.grad(expected, leaves, weights.double(), retain_graph=True)
        for gradient, reference in zip(ours, wanted, strict=True):
            assert_near(gradient, reference)
        norm.load_state_dict(before)


def assert_near(ours: Tensor, theirs: Tensor, tolerance: float = 2e-5) -> None:
    assert ours.shape == theirs.shape
    assert (ours - theirs).norm() <= tolerance * theirs.norm()


def test_numbers_far_from_zero_keep_their_deviation() -> None:
    norm, maps = layer(8), maps_of((4, 8, 9, 9), offset=3e3)
    expected, _ = plainly(norm, maps, None)
    assert_near(_fused(norm, maps, None), expected, 1e-3)


@pytest.mark.parametrize("addition", [False, True])
def test_half_precision_comes_back_in_its_own_kind(addition: bool) -> None:
    shape = (4, 32, 8, 8)
    norm, maps = layer(32), maps_of(shape, torch.bfloat16)
    added = maps_of(shape, torch.bfloat16) if addition else None
    expected, theirs = plainly(norm, maps, added)
    values = _fused(norm, maps, added)
    assert values.dtype == torch.bfloat16
    assert_near(values, expected, 5e-3)
    weights = torch.randn_like(values)
    ours = torch.autograd.grad(values, [maps, norm.weight, norm.bias], weights)
    wanted = torch.autograd.grad(expected, [maps, theirs.weight, theirs.bias], weights.double())
    assert [gradient.dtype for gradient in ours] == [torch.bfloat16, torch.float32, torch.float32]
    for gradient, reference in zip(ours, wanted, strict=True):
        assert_near(gradient, reference, 1e-2)


def test_gradients_in_another_order_are_understood() -> None:
    norm, maps = layer(4), maps_of((2, 4, 3, 3))
    expected, _ = plainly(norm, maps, None)
    (ours,) = torch.autograd.grad(_fused(norm, maps, None).mean((-2, -1)).square().sum(), maps)
    (theirs,) = torch.autograd.grad(expected.mean((-2, -1)).square().sum(), maps)
    assert_near(ours, theirs)


def test_what_is_no_number_stays_none() -> None:
    norm, maps = layer(2), maps_of((2, 2, 2, 2)).detach()
    maps[0, 1, 0, 0] = float("nan")
    values = _fused(norm, maps, None)
    assert values[:, 1].isnan().all()
    assert values[:, 0].isfinite().all()


def test_equal_inputs_give_equal_bits() -> None:
    norm, maps = layer(32), maps_of(IN_A_LARGE_NETWORK if ON_GPU else SHAPES["several programs"])
    results = []
    for _ in range(3):
        norm.running_mean.zero_()  # type: ignore[union-attr]  # it tracks
        values = _fused(norm, maps, None)
        results.append([values, *torch.autograd.grad(values.sum(), [maps, norm.weight, norm.bias])])
    for other in results[1:]:
        assert all(torch.equal(ours, theirs) for ours, theirs in zip(results[0], other, strict=True))
