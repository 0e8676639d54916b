"""One fixed set of draws for prediction: the same for all examples, at every call and on all devices."""

from __future__ import annotations

import torch

from truelabel.noise.sampled_softmax import Draws, GaussianLatent, log_mean_softmax, softmax_variance
from truelabel.types import Uncertainty

_SEED = 20170


def fixed_draws(latent: GaussianLatent, samples: int, upsample: int = 1) -> Draws:
    """Draws for logits like these, of their precision and device, from a generator of their own.

    Args:
        latent: logits of units ``(*U)``, or ``(N, H, W)`` with ``upsample``.
        samples: M.
        upsample: above one, every pixel has draws of its own, as :func:`log_mean_softmax` needs them.
    """
    generator = torch.Generator().manual_seed(_SEED)
    shapes = draw_shapes(latent, samples, upsample)
    return Draws(*(torch.randn(shape, generator=generator).to(latent.location) for shape in shapes))


def draw_shapes(latent: GaussianLatent, samples: int, upsample: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Shapes of the two parts of the draws."""
    classes, factors = latent.factors.shape[-2:]
    space = latent.location.shape[1:-1] if upsample > 1 else ()
    return (factors, samples, *space), (classes, samples, *space)


@torch.no_grad()
def spread_over_draws(latent: GaussianLatent, samples: int, upsample: int = 1) -> Uncertainty:
    """Mean and variance of the softmax over fixed draws, in memory that does not grow with their number.

    Args:
        latent: logits of units ``(*U)``, or ``(N, H, W)`` with ``upsample``.
        samples: M.
        upsample: how many times to enlarge sampled logits, see :func:`log_mean_softmax`.

    Example:
        >>> latent = GaussianLatent(torch.zeros(5, 3), torch.ones(5, 3), torch.zeros(5, 3, 0))
        >>> spread_over_draws(latent, samples=100).variance.shape
        torch.Size([5, 3])
    """
    draws = fixed_draws(latent, samples, upsample)
    probs = log_mean_softmax(latent, draws, upsample).exp()
    return Uncertainty.of_draws(probs, softmax_variance(latent, draws, probs, upsample))
