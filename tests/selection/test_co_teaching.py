from __future__ import annotations

import pytest
import torch
from torch import Tensor

from truelabel.selection import CoTeaching

ALL = torch.ones(40, dtype=torch.bool)


def reference(losses: Tensor, keep: int) -> Tensor:
    """Algorithm 1 of Han 2018, example by example."""
    weights = torch.zeros_like(losses)
    peers, n = losses.shape
    for m in range(peers):
        for i in sorted(range(n), key=lambda i: losses[m, i].item())[:keep]:
            weights[(m + 1) % peers, i] = n / keep
    return weights


@pytest.mark.parametrize("peers", [1, 2, 3])
@pytest.mark.parametrize("progress", [0.0, 0.05, 0.2, 0.9])
def test_it_is_the_papers_algorithm(peers: int, progress: float) -> None:
    losses = torch.randn(peers, 40)
    keep = int((1 - 0.45 * min(progress / 0.2, 1)) * 40 + 1e-6)
    weights = CoTeaching(0.45, ramp=0.2)(losses, torch.zeros(peers, 40), ALL, torch.tensor(progress))
    torch.testing.assert_close(weights, reference(losses, keep))


@pytest.mark.parametrize(("rate", "ramp"), [(0.0, 0.5), (0.3, 0.0), (0.45, 0.1), (0.7, 1.0)])
def test_the_kept_fraction_follows_the_schedule(rate: float, ramp: float) -> None:
    selector, losses = CoTeaching(rate, ramp), torch.rand(2, 1000)
    everyone = torch.ones(1000, dtype=torch.bool)
    for progress in torch.arange(0, 1, 0.01):
        kept = (selector(losses, torch.zeros(2, 1000), everyone, progress) > 0).float().mean(1)
        expected = 1 - rate * (min(float(progress) / ramp, 1.0) if ramp else 1.0)
        assert kept.tolist() == pytest.approx([expected] * 2, abs=0.0011)


def test_round_shares_are_not_rounded_down() -> None:
    for tenths in range(10):
        weights = CoTeaching(tenths / 10)(torch.rand(2, 10), torch.zeros(2, 10), ALL[:10], torch.tensor(0.0))
        assert (weights > 0).sum(1).tolist() == [10 - tenths] * 2


def test_something_is_always_kept() -> None:
    weights = CoTeaching(0.99)(torch.rand(2, 5), torch.zeros(2, 5), ALL[:5], torch.tensor(0.9))
    assert weights.sort(1).values.tolist() == [[0, 0, 0, 0, 5]] * 2


def test_losses_of_a_density_may_be_negative() -> None:
    losses = torch.tensor([[-5.0, -9.0, 2.0, 0.0]]).expand(2, 4)
    weights = CoTeaching(0.5)(losses, torch.zeros(2, 4), torch.tensor([True, True, True, False]), torch.tensor(0.0))
    assert (weights > 0).tolist() == [[False, True, False, False]] * 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 1.0}, r"rate must lie in \[0, 1\), got 1.0"),
        ({"rate": -0.1}, r"rate must lie in \[0, 1\), got -0.1"),
        ({"rate": 0.2, "ramp": -1.0}, "ramp must be a share of the training, 0 or larger, got -1.0"),
    ],
)
def test_options_check_themselves(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CoTeaching(**options)
