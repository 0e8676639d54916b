"""MentorNet's predefined curriculum: losses above a moving quantile do not count (Jiang 2018)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from truelabel.selection.selector import Selector


class SelfPaced(Selector):
    r"""Each peer weights its own losses against a moving quantile of them.

    .. math::
        \lambda_1 &\leftarrow \alpha \lambda_1 + (1 - \alpha)\, \mathrm{quantile}_{1-\tau}(\ell) \\
        v &= \mathbf{1}[\ell \le \lambda_1] \text{ if } \lambda_2 = 0, \qquad
        v = \mathrm{clip}\!\left(1 - \frac{\ell - \lambda_1}{\lambda_2}, 0, 1\right) \text{ otherwise}

    During the burn-in v is one, while :math:`\lambda_1` follows the losses already. The denominator is the batch.

    Differs from the published code: :math:`\lambda_1` starts at the first quantile instead of zero, which would be far
    too low for some time.

    Args:
        rate: τ, the share of wrong labels.
        softness: λ₂, over which range of losses the weight falls to zero.
        decay: α of the moving quantile.
        burn_in: the share of the training in which every label counts.
        peers: M; each has a λ₁ of its own.

    Shapes: as :class:`Selector`.

    Reference: Eq. 5 of Jiang et al., MentorNet, ICML 2018; the self-paced form that Collier 2020 compares with.

    Example:
        >>> losses = torch.tensor([[0.1, 0.2, 3.0, 4.0]])
        >>> select = SelfPaced(rate=0.5)
        >>> select(losses, torch.zeros(1, 4), torch.ones(4, dtype=torch.bool), torch.tensor(0.0))
        tensor([[1., 1., 0., 0.]])
    """

    threshold: Tensor

    def __init__(
        self, rate: float, softness: float = 0.0, decay: float = 0.9, burn_in: float = 0.0, peers: int = 1
    ) -> None:
        super().__init__()
        for name, value in (("rate", rate), ("decay", decay)):
            if not 0 <= value < 1:
                raise ValueError(f"{name} must lie in [0, 1), got {value!r}")
        for name, value in (("softness", softness), ("burn_in", burn_in)):
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must not be negative, got {value!r}")
        self.rate, self.softness, self.decay, self.burn_in = rate, softness, decay, burn_in
        # NaN until the first labelled batch.
        self.register_buffer("threshold", torch.full((peers, 1), math.nan))

    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        if len(losses) != len(self.threshold):
            made, there = len(self.threshold), len(losses)
            raise ValueError(f"SelfPaced was made for peers={made}, but there are {there}: pass peers={there}")
        seen = losses.float().masked_fill(~labelled, math.nan)
        now = seen.nanquantile(1 - self.rate, dim=-1, keepdim=True)
        before = torch.where(self.threshold.isnan(), now, self.threshold)
        # A batch without labels leaves the threshold as it was.
        self.threshold.copy_(torch.where(now.isnan(), before, before.lerp(now, 1 - self.decay)))
        excess = losses - self.threshold
        weights = (1 - excess / self.softness).clamp(0, 1) if self.softness else (excess <= 0).to(losses.dtype)
        weights = torch.where(progress < self.burn_in, torch.ones_like(losses), weights)
        return torch.where(labelled, weights, 0.0).to(losses.dtype)
