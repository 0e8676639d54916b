from __future__ import annotations

import pytest
import torch

from truelabel.selection import Disagreement

NOW = torch.tensor(0.3)


def test_only_disputed_examples_count_and_their_loss_is_averaged() -> None:
    predicted = torch.tensor([[0, 1, 2, 2, 1], [0, 2, 2, 1, 0]])
    losses = torch.rand(2, 5)
    weights = Disagreement()(losses, predicted, torch.tensor([True, True, True, True, False]), NOW)
    assert weights.tolist() == [[0, 2.5, 0, 2.5, 0]] * 2
    mean = (weights * losses).mean(1)
    torch.testing.assert_close(mean, losses[:, [1, 3]].mean(1))


def test_a_single_dispute_does_not_count_for_a_batch() -> None:
    predicted = torch.zeros(2, 100, dtype=torch.long)
    predicted[1, 7] = 1
    weights = Disagreement()(torch.rand(2, 100), predicted, torch.ones(100, dtype=torch.bool), NOW)
    assert weights[:, 7].tolist() == pytest.approx([10.0, 10.0])
    assert weights.sum().item() == pytest.approx(20.0)


def test_agreement_is_no_step() -> None:
    same = torch.tensor([[0, 1, 2], [0, 1, 2]])
    assert Disagreement()(torch.rand(2, 3), same, torch.ones(3, dtype=torch.bool), NOW).tolist() == [[0.0] * 3] * 2


def test_one_of_three_is_enough_for_a_dispute() -> None:
    predicted = torch.tensor([[0, 1], [0, 1], [0, 2]])
    assert Disagreement()(torch.rand(3, 2), predicted, torch.ones(2, dtype=torch.bool), NOW).tolist() == [[0, 2]] * 3


def test_images_count_by_the_share_of_disputed_pixels() -> None:
    predicted = torch.zeros(2, 3, 2, 2, dtype=torch.long)
    predicted[1, 1, 0] = 1
    predicted[1, 2] = 1
    weights = Disagreement()(torch.rand(2, 3), predicted, torch.ones(3, dtype=torch.bool), NOW)
    torch.testing.assert_close(weights, torch.tensor([[0.0, 1.0, 2.0]]).expand(2, 3))


def test_one_network_cannot_disagree_with_itself() -> None:
    with pytest.raises(ValueError, match="needs two peers or more, got one"):
        Disagreement()(torch.rand(1, 3), torch.zeros(1, 3), torch.ones(3, dtype=torch.bool), NOW)
