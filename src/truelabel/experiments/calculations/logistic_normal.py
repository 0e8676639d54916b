"""Figures 1 and 2 of Englesson 2023: the likelihood itself."""

from __future__ import annotations

import math

import torch
from torch.distributions import MultivariateNormal


def attenuated_loss(seed: int, *, scale: float, residual: float) -> dict[str, float]:
    r"""The loss of a binary label with the best variance that there is, against its residual (Figure 2).

    With :math:`\sigma = c^2 + \lambda \ge \lambda` the loss :math:`r^2 / (2\sigma^2) + \log\sigma` is least at
    :math:`\sigma = \max(|r|, \lambda)`. The label-dependent term, :math:`r^2 / \sigma^2`, is then one from
    :math:`|r| = \lambda` on: the label is attenuated.

    Args:
        seed: not used; there is nothing random.
        scale: λ.
        residual: r.

    Example:
        >>> attenuated_loss(0, scale=0.5, residual=0.25)["label_term"]
        0.25
    """
    sigma = max(abs(residual), scale)
    return {"loss": residual**2 / (2 * sigma**2) + math.log(sigma), "label_term": residual**2 / sigma**2}


def simplex_equivalence(
    seed: int, *, mean: tuple[float, float], covariance: tuple[float, float, float], samples: int = 100_000
) -> dict[str, float]:
    r"""A normal distribution of two logits and the distribution on the simplex that it becomes (Figure 1).

    Draws of :math:`N(\mu, \Sigma)` go through the centred softmax. If the density on the simplex is
    :math:`p(s) = N(S_C^{-1}(s); \mu, \Sigma) / \prod_k s_k`, the mean of :math:`1 / p` over draws whose density is
    above a bound is the area in which it is; compared here with a count of a fine grid. Both tell the same area if and
    only if logits and simplex are two views of one distribution.

    Args:
        seed: of the draws.
        mean: μ.
        covariance: variances, and the covariance.
        samples: how many draws.

    Example:
        >>> areas = simplex_equivalence(0, mean=(0.5, -0.5), covariance=(1.0, 1.0, 0.3))
        >>> abs(areas["area_by_draws"] / areas["area_by_grid"] - 1) < 0.02
        True
    """
    first, second, joint = covariance
    normal = MultivariateNormal(torch.tensor(mean).double(), torch.tensor([[first, joint], [joint, second]]).double())
    torch_generator = torch.Generator().manual_seed(seed)
    draws = torch.randn(samples, 2, generator=torch_generator, dtype=torch.double) @ normal.scale_tril.mT + normal.loc

    def log_density(logits: torch.Tensor) -> torch.Tensor:
        corners = torch.nn.functional.pad(logits, (0, 1)).log_softmax(-1)
        density: torch.Tensor = normal.log_prob(logits) - corners.sum(-1)
        return density

    at_draws = log_density(draws)
    bound = at_draws.quantile(0.2)
    dense = at_draws > bound
    side = torch.linspace(0, 1, 1502, dtype=torch.double)[1:-1]
    grid = torch.cartesian_prod(side, side)
    grid = grid[grid.sum(-1) < 1]
    logits = (grid / (1 - grid.sum(-1, keepdim=True))).log()
    step = float(side[1] - side[0])
    return {
        "area_by_draws": float(((-at_draws).exp() * dense).mean()),
        "area_by_grid": float((log_density(logits) > bound).sum()) * step**2,
    }
