from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from truelabel.selection import SelfPaced

ALL = torch.ones(50, dtype=torch.bool)


def reference(batches: list[Any], rate: float, softness: float, decay: float) -> list[Any]:
    """The published rule in numpy, started at the first quantile."""
    threshold, weights = math.nan, []
    for losses in batches:
        now = np.quantile(losses, 1 - rate)
        threshold = now if math.isnan(threshold) else decay * threshold + (1 - decay) * now
        excess = losses - threshold
        weights.append(np.clip(1 - excess / softness, 0, 1) if softness else (excess <= 0).astype(float))
    return weights


@pytest.mark.parametrize("softness", [0.0, 0.4])
def test_it_is_the_published_rule(softness: float) -> None:
    batches = [torch.rand(2, 50) * (3 - step / 4) for step in range(8)]
    selector = SelfPaced(0.3, softness, decay=0.8, peers=2)
    ours = torch.stack([selector(losses, torch.zeros(2, 50), ALL, torch.tensor(0.5)) for losses in batches])
    for peer in range(2):
        expected = reference([losses[peer].double().numpy() for losses in batches], 0.3, softness, 0.8)
        np.testing.assert_allclose(ours[:, peer].numpy(), np.stack(expected), atol=1e-5)


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.45, 0.8])
def test_the_kept_fraction_is_the_rate_when_losses_stand_still(rate: float) -> None:
    selector, losses = SelfPaced(rate), torch.rand(1, 1001)
    everyone = torch.ones(1001, dtype=torch.bool)
    for _ in range(5):
        kept = (selector(losses, torch.zeros(1, 1001), everyone, torch.tensor(0.5)) > 0).float().mean()
    assert kept.item() == pytest.approx(1 - rate, abs=0.002)


def test_all_labels_count_in_the_burn_in_while_the_threshold_moves() -> None:
    selector = SelfPaced(0.5, burn_in=0.25)
    losses = torch.arange(50.0).unsqueeze(0)
    assert (selector(losses, losses, ALL, torch.tensor(0.0)) == 1).all()
    assert (selector(losses - 10, losses, ALL, torch.tensor(0.24)) == 1).all()
    assert selector.threshold.item() == pytest.approx(0.9 * 24.5 + 0.1 * 14.5)
    assert (selector(losses, losses, ALL, torch.tensor(0.25)) == 1).sum() == 24


def test_unlabelled_examples_are_not_in_the_quantile() -> None:
    selector, losses = SelfPaced(0.5), torch.arange(10.0).unsqueeze(0)
    labelled = torch.arange(10) >= 5
    weights = selector(losses, losses, labelled, torch.tensor(0.0))
    assert selector.threshold.item() == 7.0
    assert weights.tolist() == [[0] * 5 + [1, 1, 1, 0, 0]]


@pytest.mark.parametrize("name", ["rate", "decay"])
def test_shares_check_themselves(name: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} must lie in \[0, 1\), got 1.0"):
        SelfPaced(**{"rate": 0.1, name: 1.0})  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["softness", "burn_in"])
def test_amounts_check_themselves(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must not be negative, got -1.0"):
        SelfPaced(0.1, **{name: -1.0})  # type: ignore[arg-type]


def test_the_number_of_peers_is_checked() -> None:
    with pytest.raises(ValueError, match="made for peers=1, but there are 2"):
        SelfPaced(0.1)(torch.rand(2, 50), torch.zeros(2, 50), ALL, torch.tensor(0.0))
