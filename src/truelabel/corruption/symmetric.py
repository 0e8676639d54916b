"""Symmetric label noise, of which there are two kinds under one name."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor


def symmetric(classes: int, rate: float, *, kind: Literal["redraw", "flip"] = "redraw") -> Tensor:
    r"""A transition that treats all classes alike.

    "redraw" (Collier 2020, Englesson 2023): with probability η the label is drawn anew from *all* K classes, so that
    :math:`T = (1-\eta) I + \eta / K`. "flip" (most of the field): with probability η it becomes one of the K-1 others,
    :math:`T[k, k] = 1 - \eta`. The two agree at :math:`\eta_{flip} = \eta_{redraw} (K-1)/K`.

    Args:
        classes: K.
        rate: η in [0, 1].
        kind: which of the two.

    Returns:
        ``(K, K)``, ``[true, observed]``.

    Example:
        >>> symmetric(2, 0.4)
        tensor([[0.8000, 0.2000],
                [0.2000, 0.8000]], dtype=torch.float64)
    """
    if classes < 2:
        raise ValueError(f"classes must be at least 2, got {classes}")
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must lie in [0, 1], got {rate}")
    if kind not in ("redraw", "flip"):
        raise ValueError(f"kind must be 'redraw' or 'flip', got {kind!r}")
    flip = rate * (classes - 1) / classes if kind == "redraw" else rate
    off = flip / (classes - 1)
    return torch.full((classes, classes), off, dtype=torch.double).fill_diagonal_(1 - flip)
