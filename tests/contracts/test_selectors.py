"""What every selector must satisfy, with two peers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from truelabel.selection import Selector

Units = tuple[int, ...]
Make = Callable[[], Selector]

PEERS = 2


@pytest.fixture
def losses(units: Units) -> Tensor:
    """Losses of both peers, no two of which are equal."""
    return (torch.randperm(PEERS * units[0]).float() + 0.5).view(PEERS, units[0]) / 4


@pytest.fixture
def predicted(units: Units) -> Tensor:
    return torch.randint(3, (PEERS, *units))


def run(selector: Selector, losses: Tensor, predicted: Tensor, steps: int = 5) -> list[Tensor]:
    """Weights of several steps in the course of a training; losses move a little from step to step."""
    return [selector(losses * (1 + step / 10), predicted, torch.tensor(step / steps)) for step in range(steps)]


def test_one_weight_a_peer_and_example(make_selector: Make, losses: Tensor, predicted: Tensor) -> None:
    for weights in run(make_selector(), losses, predicted):
        assert weights.shape == losses.shape
        assert weights.dtype == losses.dtype
        assert weights.isfinite().all()
        assert (weights >= 0).all()


def test_no_gradient_flows_through_a_selection(make_selector: Make, losses: Tensor, predicted: Tensor) -> None:
    assert not any(weights.requires_grad for weights in run(make_selector(), losses.requires_grad_(), predicted))


def test_the_order_of_a_batch_does_not_matter(make_selector: Make, losses: Tensor, predicted: Tensor) -> None:
    order = torch.randperm(losses.shape[1])
    plain = run(make_selector(), losses, predicted)
    turned = run(make_selector(), losses[:, order], predicted[:, order])
    torch.testing.assert_close(torch.stack(turned), torch.stack(plain)[..., order])


def test_equal_state_gives_equal_weights(make_selector: Make, losses: Tensor, predicted: Tensor) -> None:
    # Every process selects for itself; a draw from torch's generator, which differs between them, would part them.
    before = torch.get_rng_state()
    first = run(make_selector(), losses, predicted)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(torch.stack(run(make_selector(), losses, predicted)), torch.stack(first))


def test_all_state_is_in_buffers(make_selector: Make, losses: Tensor, predicted: Tensor) -> None:
    first, second = make_selector(), make_selector()
    assert list(first.parameters()) == []
    run(first, losses, predicted)
    assert first.state_dict().keys() == dict(first.named_buffers()).keys()
    second.load_state_dict(first.state_dict())
    expected = torch.stack(run(first, losses, predicted))
    assert torch.equal(torch.stack(run(second, losses, predicted)), expected)


def test_a_selection_reads_no_value(make_selector: Make, losses: Tensor, predicted: Tensor) -> None:
    # Tensors on the meta device have no values: `.item()` or a branch on one raises, as it would in a CUDA graph.
    selector = make_selector().to("meta")
    assert selector(losses.to("meta"), predicted.to("meta"), torch.zeros((), device="meta")).shape == losses.shape
