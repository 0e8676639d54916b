from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

from truelabel.networks.encoder import Gaussian, GaussianEncoder


def test_the_divergence_is_that_of_torch() -> None:
    ours = Gaussian(torch.randn(5, 1, 3).double(), torch.rand(5, 1, 3).double() + 0.01)
    other = Gaussian(torch.randn(4, 3).double(), torch.rand(4, 3).double() * 3 + 0.01)
    expected = kl_divergence(Normal(*ours), Normal(*other)).sum(-1)
    assert expected.shape == (5, 4)
    torch.testing.assert_close(ours.divergence_from(other), expected)
    assert torch.equal(ours.divergence_from(ours), torch.zeros(5, 1).double())


def test_draws_have_its_moments() -> None:
    gaussian = Gaussian(torch.tensor([1.0, -4.0]), torch.tensor([0.5, 3.0]))
    draws = gaussian.at(torch.randn(20_000, 2))
    torch.testing.assert_close(draws.mean(0), gaussian.mean, atol=0.1, rtol=0)
    torch.testing.assert_close(draws.std(0), gaussian.scale, atol=0, rtol=0.03)


@pytest.mark.parametrize("space", [(16, 16), (5, 4), (1, 1), (13, 31), (1, 7, 4), (9, 10, 11)])
def test_any_size_becomes_a_vector(space: tuple[int, ...]) -> None:
    found = GaussianEncoder(2, latent=3, dims=len(space), width=4)(torch.randn(2, 2, *space))
    assert found.mean.shape == found.scale.shape == (2, 3)
    assert (found.scale > 0).all()


@pytest.mark.parametrize("dims", [2, 3])
def test_layers(dims: int) -> None:
    encoder = GaussianEncoder(3, latent=5, dims=dims, width=2)
    convolutions = [layer for layer in encoder.modules() if isinstance(layer, nn.Conv2d | nn.Conv3d)]
    sizes = [(layer.in_channels, layer.out_channels) for layer in convolutions]
    assert sizes == [(3, 2), (2, 2), (2, 4), (4, 4), (4, 8), (8, 8), (8, 12), (12, 12)]
    assert all(layer.kernel_size == (3,) * dims and layer.padding == (1,) * dims for layer in convolutions)
    seen: list[tuple[int, ...]] = []
    for layer in convolutions:
        layer.register_forward_hook(lambda _, given, made: seen.append(tuple(made.shape[2:])))
    encoder(torch.zeros(1, 3, *(13,) * dims))
    assert seen == [(side,) * dims for side in (13, 13, 7, 7, 4, 4, 2, 2)]
    assert encoder.head.out_features == 10


def test_by_hand() -> None:
    encoder = GaussianEncoder(1, latent=2, width=3, depth=2).double()
    images = torch.randn(4, 1, 6, 6).double()
    first, second, third, fourth = (layer for layer in encoder.modules() if isinstance(layer, nn.Conv2d))
    maps = second(first(images).clamp_min(0)).clamp_min(0)
    halved = maps.unflatten(3, (3, 2)).unflatten(2, (3, 2)).mean((3, 5))
    pooled = fourth(third(halved).clamp_min(0)).clamp_min(0).mean((2, 3))
    values = pooled @ encoder.head.weight.T + encoder.head.bias
    found = encoder(images)
    torch.testing.assert_close(found.mean, values[:, :2])
    torch.testing.assert_close(found.scale, (1 + values[:, 2:].exp()).log() + 1e-3)


def test_signals_keep_their_size_at_the_start() -> None:
    encoder, seen = GaussianEncoder(1, latent=6), list[float]()
    for level in encoder.levels:
        level.register_forward_hook(lambda _, given, made: seen.append(made.std().item()))
    with torch.no_grad():
        encoder(torch.randn(64, 1, 1, 1).expand(-1, -1, 32, 32))  # pooling takes nothing from flat images
    assert all(0.1 < size < 3 for size in seen)
    assert len(seen) == 4


def test_the_amount_of_a_mask_is_seen() -> None:
    # An encoder with instance norm would tell only where a mask is, not how large.
    masks = torch.zeros(2, 1, 16, 16)
    masks[0, 0, :4], masks[1, 0, :12] = 1, 1
    found = GaussianEncoder(1, latent=4)(masks).mean
    assert (found[0] - found[1]).abs().max() > 0.02


def test_a_gradient_reaches_every_parameter_and_the_input() -> None:
    encoder, images = GaussianEncoder(2, latent=3, width=4), torch.randn(6, 2, 9, 8, requires_grad=True)
    found = encoder(images)
    (found.mean * torch.randn(6, 3) + found.scale * torch.randn(6, 3)).sum().backward()
    assert images.grad is not None
    assert images.grad.flatten(1).any(1).all()
    for name, parameter in encoder.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.any(), name


def test_large_inputs_do_not_overflow() -> None:
    found = GaussianEncoder(1, latent=6)(1e6 * torch.randn(4, 1, 16, 16))
    assert found.divergence_from(Gaussian(found.mean.flip(0), found.scale.flip(0))).isfinite().all()


def test_mixed_precision_ends_in_full() -> None:
    with torch.autocast("cpu", torch.bfloat16):
        found = GaussianEncoder(1, latent=2)(torch.randn(2, 1, 8, 8))
    assert found.mean.dtype == found.scale.dtype == torch.float32
    assert GaussianEncoder(1, latent=2).double()(torch.randn(2, 1, 8, 8).double()).scale.dtype == torch.float64


def test_other_dimensions_are_refused() -> None:
    with pytest.raises(ValueError, match="^dims=1 of an encoder must be 2 \\(images\\) or 3 \\(volumes\\)$"):
        GaussianEncoder(1, latent=2, dims=1)
