"""A transition matrix from examples whose class is beyond doubt (Patrini 2017)."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def estimate_transition(posterior: Tensor, quantile: float | None = 0.97) -> Tensor:
    r"""Read the transition off anchor points: :math:`T[i, :] = \hat p(\tilde y \mid x^i)`, rows normalised.

    :math:`x^i` is the example with the largest :math:`\hat p(\tilde y = i \mid x)`. Under the percentile rule it is the
    largest one *below* the quantile, because the top of a network that has begun to fit the noise is overconfident.

    Args:
        posterior: ``(N, K)``, noisy class probabilities of a network trained by cross entropy.
        quantile: 0.97 for MNIST and CIFAR-10; None takes the maximum, for many classes (CIFAR-100).

    Returns:
        ``(K, K)``, ``[true, observed]``.

    Example:
        >>> estimate_transition(torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]]), quantile=None)
        tensor([[0.9000, 0.1000],
                [0.2000, 0.8000]])
    """
    if posterior.dim() != 2 or not len(posterior):
        raise ValueError(f"posterior must be (N, K) with at least one row, got {tuple(posterior.shape)}")
    if quantile is not None and not 0 < quantile <= 1:
        raise ValueError(f"quantile must lie in (0, 1], or be None, got {quantile!r}")
    candidates = posterior
    if quantile is not None:
        # torch.quantile refuses more than sixteen million values, which a few hundred masks have.
        place = math.ceil(quantile * (len(posterior) - 1))
        top = posterior.kthvalue(place + 1, dim=0).values
        below = torch.where(posterior < top, posterior, -1.0)
        # A class whose probabilities are all equal has nothing below its quantile.
        candidates = torch.where((below >= 0).any(0), below, posterior)
    anchors = posterior[candidates.argmax(0)]
    return anchors / anchors.sum(-1, keepdim=True)
