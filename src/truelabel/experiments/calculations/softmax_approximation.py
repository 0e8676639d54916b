"""Section 3 of Collier 2020: what a softmax at a temperature makes of an arg max, and what sampling it costs."""

from __future__ import annotations

from collections.abc import Sequence

import torch

DRAWS = 200_000
"""For the bias, in parts that fit into memory."""


def softmax_approximation(
    seed: int,
    *,
    temperature: float,
    samples: int,
    location: Sequence[float] = (1.0, 0.0, -1.0),
    scale: Sequence[float] = (1.0, 0.5, 2.0),
    replicates: int = 200,
) -> dict[str, float]:
    r"""Bias of the smoothed probabilities, and variance of the gradient that is estimated from draws.

    Utilities are :math:`u = f + \sigma \odot \epsilon`. Exactly, :math:`p_c = P(\arg\max_k u_k = c)` (Eq. 3), one
    integral over :math:`u_c`; smoothed, :math:`p^\tau_c = \mathbb{E} \operatorname{softmax}(u / \tau)_c` (Eq. 6); in
    training, the mean over S draws (Eq. 7), whose gradient for the first class is

    .. math:: \nabla_f \log \hat p_0 = \frac{1}{\tau} \sum_s w_s (e_0 - p^{(s)}), \qquad
              w_s = p^{(s)}_0 / \sum_{s'} p^{(s')}_0 .

    Args:
        seed: of the draws.
        temperature: τ.
        samples: S.
        location: ``(K,)``, f.
        scale: ``(K,)``, σ.
        replicates: estimates whose variance is taken.

    Returns:
        ``exact``, p₀; ``bias``, the total variation distance of smoothed and exact probabilities, from the same draws;
        ``probability_deviation``, the standard deviation of the estimate of p₀; ``gradient_variance``, that of the
        gradient summed over classes.

    Example:
        >>> cold, warm = (softmax_approximation(0, temperature=t, samples=10) for t in (0.1, 1.0))
        >>> cold["bias"] < warm["bias"], cold["gradient_variance"] > warm["gradient_variance"]
        (True, True)
    """
    generator = torch.Generator().manual_seed(seed)
    f, sigma = (torch.tensor(list(values), dtype=torch.double) for values in (location, scale))

    def utilities(*shape: int) -> torch.Tensor:
        return f + sigma * torch.randn(*shape, len(f), generator=generator, dtype=torch.double)

    drawn = utilities(DRAWS)
    sharp = torch.nn.functional.one_hot(drawn.argmax(-1), len(f)).double()
    bias = ((drawn / temperature).softmax(-1) - sharp).mean(0).abs().sum() / 2
    log_probs = (utilities(replicates, samples) / temperature).log_softmax(-1)
    weights = log_probs[..., :1].softmax(1)
    unit = torch.zeros_like(f)
    unit[0] = 1
    gradient = (weights * (unit - log_probs.exp())).sum(1) / temperature
    return {
        "exact": largest_probability(f, sigma),
        "bias": float(bias),
        "probability_deviation": float(log_probs[..., 0].exp().mean(1).std()),
        "gradient_variance": float(gradient.var(0).sum()),
    }


def largest_probability(location: torch.Tensor, scale: torch.Tensor, points: int = 4001) -> float:
    r"""Probability that the first of independent normal numbers is the largest, by the trapezoidal rule.

    .. math:: \int \phi(z) \prod_{k > 0} \Phi\!\left(\frac{f_0 + \sigma_0 z - f_k}{\sigma_k}\right) dz

    Args:
        location: ``(K,)``.
        scale: ``(K,)``.
        points: of the rule, over ten standard deviations to each side.

    Example:
        >>> round(largest_probability(torch.zeros(4), torch.ones(4)), 6)
        0.25
    """
    z = torch.linspace(-10, 10, points, dtype=torch.double)
    first = location[0] + scale[0] * z
    below = torch.special.ndtr((first.unsqueeze(-1) - location[1:]) / scale[1:]).prod(-1)
    density = torch.exp(-(z**2) / 2) / (2 * torch.pi) ** 0.5
    return float(torch.trapezoid(density * below, z))
