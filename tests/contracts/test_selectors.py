"""What every selector must satisfy, with two peers."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from truelabel.selection import Selector

Units = tuple[int, ...]
Make = Callable[[], Selector]

PEERS, EXAMPLES = 2, 20


@pytest.fixture
def losses() -> Tensor:
    """Losses of both peers, no two of which are equal."""
    return (torch.randperm(PEERS * EXAMPLES).float() + 0.5).view(PEERS, EXAMPLES) / 4


@pytest.fixture
def predicted(units: Units) -> Tensor:
    return torch.randint(3, (PEERS, EXAMPLES, *units[1:]))


@pytest.fixture
def labelled() -> Tensor:
    return torch.arange(EXAMPLES) % 5 > 0


def run(selector: Selector, losses: Tensor, predicted: Tensor, labelled: Tensor, steps: int = 5) -> list[Tensor]:
    """Weights of several steps in the course of a training; losses move a little from step to step."""
    return [
        selector(losses * (1 + step / 10), predicted, labelled, torch.tensor(step / steps)) for step in range(steps)
    ]


def test_one_weight_a_peer_and_example(
    make_selector: Make, losses: Tensor, predicted: Tensor, labelled: Tensor
) -> None:
    for kind in (torch.float, torch.double):
        for weights in run(make_selector(), losses.to(kind), predicted, labelled):
            assert weights.shape == losses.shape
            assert weights.dtype == kind
            assert weights.isfinite().all()
            assert (weights >= 0).all()


def test_no_gradient_flows_through_a_selection(
    make_selector: Make, losses: Tensor, predicted: Tensor, labelled: Tensor
) -> None:
    steps = run(make_selector(), losses.requires_grad_(), predicted, labelled)
    assert not any(weights.requires_grad for weights in steps)


def test_a_permuted_batch_has_permuted_weights(
    make_selector: Make, losses: Tensor, predicted: Tensor, labelled: Tensor
) -> None:
    order = torch.randperm(EXAMPLES)
    plain = run(make_selector(), losses, predicted, labelled)
    turned = run(make_selector(), losses[:, order], predicted[:, order], labelled[order])
    torch.testing.assert_close(torch.stack(turned), torch.stack(plain)[..., order])


def test_examples_without_labels_change_nothing_for_the_others(
    make_selector: Make, losses: Tensor, predicted: Tensor, labelled: Tensor
) -> None:
    with_them = torch.stack(run(make_selector(), torch.where(labelled, losses, 0.0), predicted, labelled))
    alone = run(make_selector(), losses[:, labelled], predicted[:, labelled], labelled[labelled])
    # The step divides by the batch, which they belong to.
    share = with_them[..., labelled] / with_them[..., labelled].sum(-1, keepdim=True).clamp_min(1e-9)
    expected = torch.stack(alone) / torch.stack(alone).sum(-1, keepdim=True).clamp_min(1e-9)
    torch.testing.assert_close(share, expected)


def test_a_batch_without_labels_is_survived(make_selector: Make, losses: Tensor, predicted: Tensor) -> None:
    selector, nobody = make_selector(), torch.zeros(EXAMPLES, dtype=torch.bool)
    for weights in run(selector, torch.zeros_like(losses), predicted, nobody):
        assert weights.isfinite().all()
    later = run(selector, losses, predicted, ~nobody)
    expected = run(make_selector(), losses, predicted, ~nobody)
    torch.testing.assert_close(torch.stack(later), torch.stack(expected))


def test_equal_state_gives_equal_weights(
    make_selector: Make, losses: Tensor, predicted: Tensor, labelled: Tensor
) -> None:
    # Every process selects for itself; a draw from torch's generator, which differs between them, would part them.
    before = torch.get_rng_state()
    first = run(make_selector(), losses, predicted, labelled)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(1)
    assert torch.equal(torch.stack(run(make_selector(), losses, predicted, labelled)), torch.stack(first))


def test_all_state_is_in_buffers(make_selector: Make, losses: Tensor, predicted: Tensor, labelled: Tensor) -> None:
    first, second = make_selector(), make_selector()
    assert list(first.parameters()) == []
    run(first, losses, predicted, labelled)
    assert first.state_dict().keys() == dict(first.named_buffers()).keys()
    second.load_state_dict(first.state_dict())
    expected = torch.stack(run(first, losses, predicted, labelled))
    assert torch.equal(torch.stack(run(second, losses, predicted, labelled)), expected)


def test_a_selection_reads_no_value(make_selector: Make, losses: Tensor, predicted: Tensor, labelled: Tensor) -> None:
    # Tensors on the meta device have no values: `.item()` or a branch on one raises, as it would in a CUDA graph.
    selector = make_selector().to("meta")
    weights = selector(losses.to("meta"), predicted.to("meta"), labelled.to("meta"), torch.zeros((), device="meta"))
    assert weights.shape == losses.shape
