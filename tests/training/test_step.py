from __future__ import annotations

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from truelabel.selection import KeepAll, Selector
from truelabel.training.step import step_loss
from truelabel.types import Batch, Step


class Fixed(nn.Module):
    """A peer whose losses are its parameters."""

    def __init__(self, losses: list[float], penalty: float = 0.0) -> None:
        super().__init__()
        self.losses = nn.Parameter(torch.tensor(losses))
        self.penalty = penalty

    def forward(self, batch: Batch) -> Step:
        return Step(self.losses, torch.tensor(self.penalty), batch.index, self.losses.detach())


class Weights(Selector):
    def __init__(self, weights: list[list[float]]) -> None:
        super().__init__()
        self.weights = torch.tensor(weights)
        self.seen: list[Tensor] = []

    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        self.seen += [losses, predicted, labelled, progress]
        return self.weights


@pytest.fixture
def batch() -> Batch:
    one = torch.zeros(3, 1, dtype=torch.long)
    return Batch(torch.zeros(3, 1), one, one, torch.ones(3, 1), None, torch.arange(3))


def test_peers_add_up_and_examples_average(fabric: Fabric, batch: Batch) -> None:
    peers = [Fixed([1.0, 2.0, 3.0], penalty=0.5), Fixed([4.0, 5.0, 9.0], penalty=0.25)]
    loss = step_loss(fabric, peers, batch, KeepAll(), torch.tensor(0.0))
    assert loss.total.item() == pytest.approx(2 + 6 + 0.75)
    loss.total.backward()
    for peer in peers:
        assert peer.losses.grad is not None
        assert peer.losses.grad.tolist() == pytest.approx([1 / 3] * 3)


def test_the_selector_owns_its_denominator_and_gets_no_gradient(fabric: Fabric, batch: Batch) -> None:
    peers = [Fixed([1.0, 2.0, 3.0]), Fixed([4.0, 5.0, 9.0])]
    selector = Weights([[3.0, 0.0, 0.0], [0.0, 1.5, 1.5]])
    loss = step_loss(fabric, peers, batch, selector, torch.tensor(0.25))
    assert loss.total.item() == pytest.approx(1 + 7)
    losses, predicted, labelled, progress = selector.seen
    assert labelled.tolist() == [True] * 3
    assert losses.tolist() == [[1, 2, 3], [4, 5, 9]]
    assert not losses.requires_grad
    assert predicted.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert float(progress) == 0.25


def test_what_is_not_selected_cannot_hurt_but_is_reported(fabric: Fabric, batch: Batch) -> None:
    peer = Fixed([1.0, float("inf"), 3.0])
    loss = step_loss(fabric, [peer], batch, Weights([[1.5, 0.0, 1.5]]), torch.tensor(0.0))
    assert loss.total.item() == pytest.approx(2.0)
    loss.total.backward()
    assert peer.losses.grad is not None
    assert peer.losses.grad.isfinite().all()
    assert not bool(loss.mean.isfinite())
    assert bool(loss.penalty.isfinite())


def test_nothing_selected_is_a_loss_of_zero(fabric: Fabric, batch: Batch) -> None:
    loss = step_loss(fabric, [Fixed([1.0, 2.0, 3.0])], batch, Weights([[0.0, 0.0, 0.0]]), torch.tensor(0.0))
    assert loss.total.item() == 0
    loss.total.backward()


def test_the_selector_sees_losses_per_label_and_who_has_any(fabric: Fabric) -> None:
    labels = torch.tensor([[0, 1], [2, -1], [-1, -1]])
    batch = Batch(torch.zeros(3, 1), labels, labels, torch.tensor([[1.0, 3.0], [0.5, 9.0], [1.0, 1.0]]), None, labels)
    selector = Weights([[1.0, 1.0, 1.0]])
    loss = step_loss(fabric, [Fixed([8.0, 2.0, 0.0])], batch, selector, torch.tensor(0.0))
    losses, _, labelled, _ = selector.seen
    assert losses.tolist() == [[2.0, 4.0, 0.0]]
    assert labelled.tolist() == [True, True, False]
    assert loss.total.item() == pytest.approx(10 / 3), "what is minimised is the loss itself"
