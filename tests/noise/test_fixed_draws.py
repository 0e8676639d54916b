from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from truelabel.noise import sampled_softmax
from truelabel.noise.fixed_draws import draw_shapes, fixed_draws, spread_over_draws
from truelabel.noise.sampled_softmax import GaussianLatent

CLASSES = 4


def random_latent(units: tuple[int, ...], factors: int) -> GaussianLatent:
    return GaussianLatent(
        2 * torch.randn(*units, CLASSES, dtype=torch.double),
        3 * torch.rand(*units, CLASSES, dtype=torch.double),
        torch.randn(*units, CLASSES, factors, dtype=torch.double),
    )


@pytest.mark.parametrize("upsample", [1, 2])
def test_draws_are_always_the_same(upsample: int) -> None:
    latent, state = random_latent((2, 3, 5), 2), torch.get_rng_state()
    first = fixed_draws(latent, 50, upsample)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(9)
    single = GaussianLatent(*(part[:1].float() for part in latent))
    for part, shape, whole in zip(
        fixed_draws(single, 50, upsample), draw_shapes(latent, 50, upsample), first, strict=True
    ):
        assert part.shape == whole.shape == shape
        assert part.dtype == torch.float
        assert torch.equal(part.double(), whole)


def test_draws_are_standard_normal() -> None:
    draws = fixed_draws(random_latent((7,), 2), 100_000)
    numbers = torch.cat([draws.common, draws.own])
    torch.testing.assert_close(numbers.mean(1), torch.zeros(6, dtype=torch.double), rtol=0, atol=0.01)
    torch.testing.assert_close(numbers.cov(), torch.eye(6, dtype=torch.double), rtol=0, atol=0.02)


@pytest.mark.parametrize("units", [(7,), (2, 3, 5), (2, 3, 2, 2)])
@pytest.mark.parametrize("factors", [0, 2])
def test_the_spread_by_its_definition(units: tuple[int, ...], factors: int) -> None:
    latent = random_latent(units, factors)
    draws = fixed_draws(latent, 30)
    noise = torch.einsum("...kq,qm->m...k", latent.factors, draws.common)
    noise = noise + torch.einsum("...k,km->m...k", latent.scale, draws.own)
    vectors = (latent.location + noise).softmax(-1)
    found = spread_over_draws(latent, 30)
    torch.testing.assert_close(found.probs, vectors.mean(0))
    torch.testing.assert_close(found.variance, vectors.var(0, correction=0))
    torch.testing.assert_close(found.entropy, torch.distributions.Categorical(vectors.mean(0)).entropy())
    assert found.sampled


def test_no_gradient_is_kept() -> None:
    latent = GaussianLatent(*(part.requires_grad_() for part in random_latent((7,), 2)))
    found = spread_over_draws(latent, 30)
    assert not any(values.requires_grad for values in found[:3])


class Largest(TorchDispatchMode):
    """The number of elements of the largest tensor that any operation returned."""

    elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else [result]:
            if isinstance(value, Tensor):
                self.elements = max(self.elements, value.numel())
        return result


def test_memory_is_that_of_the_answer_and_of_a_tile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_softmax, "TILE_ON_CPU", 2048)
    latent, samples = random_latent((2, 10, 10), 1), 300
    with Largest() as largest:
        spread_over_draws(latent, samples)
    loading, own, tile = latent.location.numel() * 2, CLASSES * samples, 2048
    assert largest.elements <= max(loading, own, tile) < latent.location.numel() * samples / 50
