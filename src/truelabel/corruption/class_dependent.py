"""Class-dependent label noise: how often a label goes wrong depends on the true class (Collier 2020)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

MAIN: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.2, 0.3, 0.4, 0.5, 0.6)
"""Rates of Table 1 of Collier 2020: 18% of balanced labels are wrong."""

REDUCED: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.10, 0.15, 0.20, 0.25, 0.30)
"""Rates of Table 5 of Collier 2020: 9% of balanced labels are wrong."""

INCREASED: tuple[float, ...] = (0.0, 0.0, 0.05, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75)
"""Rates of Table 6 of Collier 2020: 28.8% of balanced labels are wrong."""

UNIFORM: tuple[float, ...] = (0.2,) * 10
"""Rates of Table 4 of Collier 2020: 18% of labels are wrong, as in :data:`MAIN`, but of all classes alike."""


def class_dependent(rates: Sequence[float]) -> Tensor:
    r"""A transition that redraws the label of class k with probability :math:`\rho_k` from *all* K classes.

    .. math:: T[k, :] = (1 - \rho_k) e_k + \rho_k / K

    The old label is among those drawn from (Sec. 5.1 of Collier 2020), so that :math:`\rho_k (K-1)/K` of the labels
    of class k are wrong. With equal rates it is ``symmetric(K, rate, kind="redraw")``.

    Args:
        rates: ``(K,)``, :math:`\rho`: :data:`MAIN`, :data:`REDUCED`, :data:`INCREASED`, :data:`UNIFORM` or one's own.

    Returns:
        ``(K, K)``, ``[true, observed]``.

    Example:
        >>> class_dependent([0.0, 0.4])
        tensor([[1.0000, 0.0000],
                [0.2000, 0.8000]], dtype=torch.float64)
    """
    if len(rates) < 2 or not all(0 <= rate <= 1 for rate in rates):
        raise ValueError(f"rates must be probabilities, one for each of at least two classes, got {list(rates)}")
    rho = torch.tensor(list(rates), dtype=torch.double).unsqueeze(-1)
    return (1 - rho) * torch.eye(len(rates), dtype=torch.double) + rho / len(rates)
