from __future__ import annotations

import pytest
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy
from truelabel.networks import MLP
from truelabel.noise import NoNoise
from truelabel.selection import KeepAll, Selector, mean_over
from truelabel.training import Engine, Split, TrainingConfig, TrainingSet, fit
from truelabel.training.step import step_loss
from truelabel.types import Batch, Step


class Recorder(Selector):
    """Keeps examples whose prediction is not class 0, and remembers what it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[Tensor, Tensor, float]] = []

    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        self.seen.append((losses, predicted, progress.item()))
        return 4.0 * (predicted != 0)


def some_batch(n: int) -> Batch:
    one = torch.zeros(n, 1, dtype=torch.long)
    return Batch(torch.zeros(n, 1), one, one, torch.ones(n, 1), None, torch.arange(n))


def test_the_contract_is_abstract() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Selector()  # type: ignore[abstract]


@pytest.mark.parametrize("peers", [1, 2])
def test_keep_all_keeps_all(peers: int) -> None:
    losses = torch.tensor([[0.0, torch.inf, 3.0, -1.0]]).expand(peers, 4)
    weights = KeepAll()(losses, torch.zeros(peers, 4), torch.ones(4, dtype=torch.bool), torch.tensor(0.5))
    assert weights.tolist() == [[1.0] * 4] * peers
    assert KeepAll().state_dict() == {}


def test_a_step_is_the_mean_of_weight_times_loss_summed_over_peers() -> None:
    fabric, selector = Engine(device="cpu").fabric("32-true"), Recorder()
    first, second = torch.tensor([1.0, 2.0, torch.inf], requires_grad=True), torch.tensor([5.0, 7.0, 11.0])
    steps = [
        Step(first, torch.tensor(0.5), torch.tensor([1, 2, 0]), first.detach()),
        Step(second, torch.tensor(0.25), torch.tensor([0, 0, 1]), second),
    ]
    peers = [lambda batch, step=step: step for step in steps]
    loss = step_loss(fabric, peers, some_batch(3), selector, torch.tensor(0.5))
    # The denominator is the batch, not what was kept; a weight of zero silences even an infinite loss.
    assert loss.total.item() == pytest.approx((4 * 1 + 4 * 2) / 3 + 4 * 11 / 3 + 0.75)
    (gradient,) = torch.autograd.grad(loss.total, first)
    assert gradient.tolist() == pytest.approx([4 / 3, 4 / 3, 0.0])
    losses, predicted, progress = selector.seen[0]
    assert not losses.requires_grad
    assert losses.tolist() == [[1.0, 2.0, torch.inf], [5.0, 7.0, 11.0]]
    assert predicted.tolist() == [[1, 2, 0], [0, 0, 1]]
    assert progress == 0.5


def test_fit_tells_a_selector_how_far_it_is() -> None:
    data = TrainingSet(torch.randn(10, 2), Annotations.from_labels([0, 1, 2, 1, 0, 2, 1, 0, 2, 1]))
    peers = [Classifier(MLP(2, width=4), NoNoise(4, 3), CrossEntropy()) for _ in range(2)]
    fabric, selector = Engine(device="cpu").fabric("32-true"), Recorder()
    fabric.launch()
    split = Split(torch.arange(10), torch.arange(0))
    fit(peers, data, split, TrainingConfig(epochs=2, batch_size=4), fabric=fabric, seed=0, selector=selector)
    assert [progress for _, _, progress in selector.seen] == [0.0, 0.25, 0.5, 0.75]
    assert {losses.shape for losses, _, _ in selector.seen} == {(2, 4)}
    assert {predicted.shape for _, predicted, _ in selector.seen} == {(2, 4)}


def test_mean_over_makes_the_mean_of_the_batch_a_mean_of_what_is_kept() -> None:
    losses = torch.tensor([[2.0, 4.0, 100.0, 6.0]])
    assert (mean_over(torch.tensor([[1.0, 1.0, 0.0, 1.0]])) * losses).mean().item() == pytest.approx(4.0)
    assert (mean_over(torch.tensor([[0.5, 0.0, 0.0, 0.25]])) * losses).mean().item() == pytest.approx(10 / 3)
    assert mean_over(torch.zeros(1, 4)).tolist() == [[0.0] * 4]
    assert mean_over(torch.tensor([[1.0, 0.0, 0.0, 0.0]]), least=0.5).tolist() == [[2.0, 0.0, 0.0, 0.0]]
