"""What every network of the catalogue must satisfy."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from truelabel.networks import NETWORKS, Network, build

# Shapes that exercise each network at little cost.
CASES = [
    ("auto", (6,)),
    ("mlp", (3, 4)),
    ("lenet-5", (1, 9, 12)),
    ("tanno-cnn", (2, 9, 6)),
    ("collier-cnn", (1, 28, 29)),
    ("resnet-18", (3, 16, 12)),
    ("resnet-34", (1, 9, 16)),
    ("resnet-50", (3, 9, 9)),
    ("resnet-18-imagenet", (1, 28, 28)),
    ("resnet-34-imagenet", (3, 32, 32)),
    ("resnet-50-imagenet", (3, 32, 32)),
    ("wrn-28-2", (3, 12, 9)),
    ("wrn-28-2-cifar", (3, 12, 9)),
    ("unet", (2, 9, 14)),
    ("unet", (1, 5, 7, 6)),
]


def fresh(name: str, shape: tuple[int, ...]) -> Network:
    torch.manual_seed(0)
    return build(name, shape)


def draw(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def units(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    return shape[1:] if name == "unet" else ()


def test_every_name_has_a_case() -> None:
    assert {name for name, _ in CASES} == set(NETWORKS)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_the_feature_axis_is_last(name: str, shape: tuple[int, ...]) -> None:
    network = fresh(name, shape).eval()
    with torch.no_grad():
        features = network(draw(3, *shape))
    assert features.shape == (3, *units(name, shape), network.features)
    assert features.isfinite().all()
    assert features.dtype == torch.float32


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_examples_do_not_see_each_other_in_evaluation(name: str, shape: tuple[int, ...]) -> None:
    network, inputs = fresh(name, shape).eval().double(), draw(3, *shape).double()
    with torch.no_grad():
        together = network(inputs)
        alone = torch.cat([network(one) for one in inputs.split(1)])
    torch.testing.assert_close(together, alone)
    assert not torch.allclose(together[0], together[1], atol=1e-3), "features must depend on the input"


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_gradient_reaches_every_parameter_and_the_input(name: str, shape: tuple[int, ...]) -> None:
    network, inputs = fresh(name, shape).train(), draw(4, *shape).requires_grad_()
    features = network(inputs)
    (features * draw(*features.shape)).sum().backward()
    assert inputs.grad is not None
    assert inputs.grad.flatten(1).any(1).all()
    for key, parameter in network.named_parameters():
        assert parameter.grad is not None, key
        assert parameter.grad.any(), key
        assert parameter.grad.isfinite().all(), key


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_state_round_trips_through_a_second_network(name: str, shape: tuple[int, ...]) -> None:
    first, second, inputs = fresh(name, shape).eval(), build(name, shape).eval(), draw(2, *shape)
    with torch.no_grad():
        second.load_state_dict(first.state_dict())
        expected = first(inputs)
        torch.testing.assert_close(second(inputs), expected, rtol=0, atol=0)
        torch.testing.assert_close(copy.deepcopy(first)(inputs), expected, rtol=0, atol=0)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_evaluation_draws_no_random_number(name: str, shape: tuple[int, ...]) -> None:
    network, inputs = fresh(name, shape).eval(), draw(2, *shape)
    before = torch.get_rng_state()
    with torch.no_grad():
        network(inputs)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["mlp", "lenet-5", "tanno-cnn", "unet"])
def test_double_precision_is_kept(name: str) -> None:
    network = fresh(name, (1, 8, 8)).double()
    assert network(draw(2, 1, 8, 8).double()).dtype == torch.float64


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_the_same_seed_gives_the_same_network(name: str) -> None:
    first, second = fresh(name, (3, 28, 28)).state_dict(), fresh(name, (3, 28, 28)).state_dict()
    assert first.keys() == second.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)


@pytest.mark.parametrize(("name", "shape"), CASES)
def test_a_step_reads_no_value(name: str, shape: tuple[int, ...]) -> None:
    # Tensors on the meta device have no values: `.item()` or a branch on one raises, as it would in a CUDA graph.
    with torch.device("meta"):
        network = build(name, shape).train()
        features = network(torch.zeros(4, *shape))
    features.sum().backward()
    assert features.shape == (4, *units(name, shape), network.features)
