from __future__ import annotations

import random
from collections import OrderedDict

import pytest
import torch
from torch import Tensor, nn

from truelabel.networks import MLP, Adapted, Network, adapt

IMAGE = torch.zeros(1, 3, 8, 8)


class Returns(nn.Module):
    """A module that answers whatever the test wants."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, inputs: Tensor) -> object:
        return self.answer


class Counting(nn.Module):
    """Changes its buffers and draws random numbers even in evaluation mode; dies on request."""

    calls: Tensor
    last: Tensor

    def __init__(self, *, dies: bool = False) -> None:
        super().__init__()
        self.dies = dies
        self.register_buffer("calls", torch.zeros(()))
        self.register_buffer("last", torch.zeros(1, 4))

    def forward(self, inputs: Tensor) -> Tensor:
        self.calls += 1
        self.last = torch.rand(inputs.shape[0], 4)
        if self.dies:
            raise RuntimeError("first line\nsecond line")
        return self.last


def test_a_network_without_forward_cannot_be_made() -> None:
    class Empty(Network):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Empty()  # type: ignore[abstract]


def test_a_network_is_returned_as_is() -> None:
    network = MLP(5)
    assert adapt(network, torch.zeros(1, 5)) is network


def test_flat_features_pass_unchanged() -> None:
    module, inputs = nn.Linear(5, 7), torch.randn(3, 5)
    network = adapt(module, inputs[:1])
    assert isinstance(network, Network)
    assert network.features == 7
    assert torch.equal(network(inputs), module(inputs))
    assert list(network.parameters()) == list(module.parameters())


@pytest.mark.parametrize(
    ("module", "space"),
    [
        (nn.Conv1d(2, 7, 3, padding=1), (6,)),
        (nn.Conv2d(2, 7, 3, padding=1), (6, 5)),
        (nn.Conv3d(2, 7, 3, padding=1), (6, 5, 4)),
    ],
)
def test_channels_move_to_the_end(module: nn.Module, space: tuple[int, ...]) -> None:
    inputs = torch.randn(3, 2, *space)
    network = adapt(module, inputs[:1])
    features = network(inputs)
    assert network.features == 7
    assert features.shape == (3, *space, 7)
    for channel in range(7):
        assert torch.equal(features[..., channel], module(inputs)[:, channel])


def test_a_mapping_with_out_is_unwrapped() -> None:
    class Segmenter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 1)

        def forward(self, inputs: Tensor) -> OrderedDict[str, Tensor]:
            return OrderedDict(out=self.conv(inputs), aux=self.conv(inputs) + 1)

    module, inputs = Segmenter(), torch.randn(2, 3, 8, 8)
    network = adapt(module, inputs[:1])
    assert torch.equal(network(inputs), module.get_submodule("conv")(inputs).permute(0, 2, 3, 1))


def test_a_pooled_trunk_gives_one_vector_per_example() -> None:
    trunk = nn.Sequential(nn.Conv2d(3, 6, 3), nn.AdaptiveAvgPool2d(1))
    inputs = torch.randn(2, 3, 8, 8)
    network = adapt(trunk, inputs[:1])
    assert network.features == 6
    assert torch.equal(network(inputs), trunk(inputs)[:, :, 0, 0])


def test_one_pixel_stays_a_pixel() -> None:
    network = adapt(nn.Conv2d(3, 6, 1), torch.zeros(1, 3, 1, 1))
    assert network(torch.zeros(2, 3, 1, 1)).shape == (2, 1, 1, 6)


def test_the_trial_leaves_training_flags_and_batch_norm_alone() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.5), nn.Flatten()).train()
    module[1].eval()
    before = {key: value.clone() for key, value in module.state_dict().items()}
    adapt(module, torch.randn(1, 3, 8, 8))
    assert [part.training for part in module.modules()] == [True, True, False, True, True]
    assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())
    assert all(parameter.grad is None for parameter in module.parameters())


@pytest.mark.parametrize("dies", [False, True])
def test_the_trial_leaves_buffers_and_random_states_alone(dies: bool) -> None:
    module = Counting(dies=dies)
    calls, last = module.calls, module.last
    states = torch.get_rng_state(), random.getstate()
    if dies:
        with pytest.raises(ValueError, match=r"cannot take inputs of shape \(1, 3, 8, 8\): first line$"):
            adapt(module, IMAGE)
    else:
        adapt(module, IMAGE)
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[1]
    assert module.calls is calls
    assert module.last is last
    assert calls == 0
    assert not last.any()
    assert module.training


def test_the_adapted_module_still_trains() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    network = adapt(module, torch.zeros(1, 3))
    network(torch.randn(8, 3)).square().sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    assert module[1].num_batches_tracked == 1
    network.eval()
    assert not module[1].training


def test_lazy_modules_get_their_shapes() -> None:
    module = nn.Sequential(nn.Flatten(), nn.LazyLinear(5), nn.LazyBatchNorm1d())
    network = adapt(module, IMAGE)
    assert network.features == 5
    assert module[1].weight.shape == (5, 192)
    assert not module.get_buffer("2.running_mean").any()


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        ((torch.zeros(1, 4),), TypeError, "network Returns returned tuple: want a tensor"),
        ({"logits": torch.zeros(1, 4)}, TypeError, "returned dict with keys 'logits': want"),
        ({"out": [1.0]}, TypeError, "returned list: want"),
        (torch.zeros(4), ValueError, r"returned shape \(4,\) for inputs of shape \(1, 3, 8, 8\): want"),
        (torch.zeros(2, 4), ValueError, r"returned shape \(2, 4\)"),
        (torch.zeros(1, 4, dtype=torch.long), TypeError, "returned torch.int64: want floating-point"),
    ],
)
def test_other_answers_are_refused(answer: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        adapt(Returns(answer), IMAGE)
    assert "\n" not in str(raised.value)


def test_inputs_that_do_not_fit_are_named() -> None:
    with pytest.raises(ValueError, match=r"network Conv2d cannot take inputs of shape \(1, 3, 8, 8\): .*channels"):
        adapt(nn.Conv2d(1, 4, 3), IMAGE)


def test_what_is_no_module_is_refused() -> None:
    with pytest.raises(TypeError, match=r"must be a torch\.nn\.Module, got int"):
        adapt(3, IMAGE)  # type: ignore[arg-type]


def test_adapted_state_survives_a_round_trip() -> None:
    first, second = (Adapted(nn.Conv2d(1, 2, 3), features=2) for _ in range(2))
    second.load_state_dict(first.state_dict())
    inputs = torch.randn(2, 1, 5, 5)
    assert torch.equal(first(inputs), second(inputs))
