"""Gaussian densities of logits, whose covariance is a matrix that is never formed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from truelabel.types import Likelihood


class Scale(Protocol):
    """A symmetric matrix S for every unit, never formed, with Σ = S S; vectors are ``(*U, S or 1, D)``."""

    def solve(self, vectors: Tensor) -> Tensor:
        """S⁻¹ times vectors, of their shape."""

    def log_det(self) -> Tensor:
        """Logarithm of the determinant of S, ``(*U, 1)``."""

    def precision(self) -> Tensor:
        """The diagonal of Σ⁻¹, ``(*U, 1, D)``."""

    def factored(self) -> tuple[Tensor, Tensor]:
        """Vector d ``(*U, 1, D)`` and factors V ``(*U, 1, D, Q)`` with Σ = V Vᵀ + diag(d²)."""

    def log_normal(self, mean: Tensor, residual: Callable[[], Tensor]) -> Tensor:
        """The logarithm of N(y; mean, Σ) without its constant, ``(*U, S)``, where ``residual`` gives y - mean."""


class DiagonalScale:
    """S = diag(σ), with ``sigma (*U, 1, D)``."""

    def __init__(self, sigma: Tensor) -> None:
        self.sigma = sigma

    def solve(self, vectors: Tensor) -> Tensor:
        return vectors / self.sigma

    def log_det(self) -> Tensor:
        return self.sigma.log().sum(-1)

    def precision(self) -> Tensor:
        return self.sigma.square().reciprocal()

    def factored(self) -> tuple[Tensor, Tensor]:
        return self.sigma, self.sigma.new_zeros(*self.sigma.shape, 0)

    def log_normal(self, mean: Tensor, residual: Callable[[], Tensor]) -> Tensor:
        return -(self.solve(residual()).square().sum(-1) / 2 + self.log_det())


class RankOneScale:
    """S = c cᵀ + λ I, with ``c (*U, 1, D)``, by the Sherman–Morrison identity."""

    def __init__(self, c: Tensor, floor: float) -> None:
        self.c = c
        self.floor = floor
        self.along = floor + (c * c).sum(-1, keepdim=True)

    def solve(self, vectors: Tensor) -> Tensor:
        along = (self.c * vectors).sum(-1, keepdim=True) / self.along
        return (vectors - self.c * along) / self.floor

    def log_det(self) -> Tensor:
        return self.along.squeeze(-1).log() + (self.c.shape[-1] - 1) * math.log(self.floor)

    def precision(self) -> Tensor:
        return (1 - self.c.square() * ((1 + self.floor / self.along) / self.along)) / self.floor**2

    def factored(self) -> tuple[Tensor, Tensor]:
        # S S = λ² I + (2λ + ‖c‖²) c cᵀ
        return torch.full_like(self.c, self.floor), ((self.floor + self.along).sqrt() * self.c).unsqueeze(-1)

    def log_normal(self, mean: Tensor, residual: Callable[[], Tensor]) -> Tensor:
        function: Any = _RankOneLogNormal
        values: Tensor = function.apply(mean, self.c, self.floor, residual)
        return values


class _RankOneLogNormal(torch.autograd.Function):
    r"""The logarithm of N(r; 0, S S) for S = c cᵀ + λ I, with a gradient in two passes.

    With :math:`\gamma = c^\top r / (\lambda + \|c\|^2)` and :math:`z = r - \gamma c = \lambda S^{-1} r`, everything in
    the gradient is a multiple of z plus one of c, because :math:`c^\top S^{-1} x = c^\top x / (\lambda + \|c\|^2)`.
    """

    @staticmethod
    def forward(ctx: Any, mean: Tensor, c: Tensor, floor: float, residual: Callable[[], Tensor]) -> Tensor:
        r = residual()
        along = floor + _norm(c).square_()
        gamma = (c * r).sum(-1, keepdim=True) / along
        z = torch.addcmul(r, c, gamma, value=-1)
        ctx.save_for_backward(z, c, along, gamma)
        ctx.floor = floor
        log_det = along.log() + (c.shape[-1] - 1) * math.log(floor)
        return -((_norm(z) / floor).square_() / 2 + log_det).squeeze(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        z, c, along, gamma = ctx.saved_tensors
        outer, floor = gradients[0].unsqueeze(-1), ctx.floor
        pull = torch.mul(z, outer / floor**2).addcmul_(c, -outer * gamma / (floor * along))
        spread = torch.mul(z, outer * gamma * (1 / floor + 1 / along) / floor)
        spread.addcmul_(c, -outer * (gamma * gamma / floor + 2) / along)
        return pull, spread, None, None


def _norm(values: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(values, dim=-1, keepdim=True)
    return norm


class LogitDensity(Likelihood):
    """The density N(y; μ, S S) at the target y of a label, in O(D) for one label and for all K of them.

    With one label a unit the residual is formed, which is fastest, and accurate in single precision however well or
    badly the label fits. Several labels share the sums of :meth:`all`, and nothing of size S K is formed.

    Args:
        mean: ``(*U, 1, D)``.
        scale: S.
        target: a, the logit of a label.
        dummy: False if the last class is the corner without a logit.
    """

    normalised = False

    def __init__(self, mean: Tensor, scale: Scale, target: float, dummy: bool) -> None:
        self.mean = mean
        self.scale = scale
        self.target = target
        self.dummy = dummy
        self.constant = mean.shape[-1] * math.log(2 * math.pi) / 2

    def all(self) -> Tensor:
        # yᵀΣ⁻¹y − 2 yᵀΣ⁻¹μ + μᵀΣ⁻¹μ for y = a e_k. The last term is the sum of squares of S⁻¹μ, not ‖μ‖²/λ² less what
        # lies along c: for a mean of 1e3 along c, that difference would keep no digit in single precision.
        whitened = self.scale.solve(self.mean)
        distances = whitened.square().sum(-1, keepdim=True) + self.target * (
            self.target * self.scale.precision() - 2 * self.scale.solve(whitened)
        )
        if not self.dummy:
            last = whitened + self.target * self.scale.solve(torch.ones_like(self.mean))
            distances = torch.cat([distances, last.square().sum(-1, keepdim=True)], -1)
        return -(distances / 2 + self.scale.log_det().unsqueeze(-1) + self.constant)

    def at(self, labels: Tensor) -> Tensor:
        if labels.shape[-1] > 1:
            return self.all().squeeze(-2).gather(-1, labels.clamp_min(0))
        return self.scale.log_normal(self.mean, lambda: self.residual(labels)) - self.constant

    def residual(self, labels: Tensor) -> Tensor:
        """Target minus mean of one label a unit, ``labels (*U, 1)``: ``(*U, 1, D)``."""
        if not self.dummy:
            return self.targets(labels) - self.mean
        target = self.mean.new_full((*labels.shape, 1), self.target)
        shifted: Tensor = self.mean.neg().scatter_add_(-1, labels.clamp_min(0).unsqueeze(-1), target)
        return shifted

    def targets(self, labels: Tensor) -> Tensor:
        """The logits y of ``labels (*U, S)``: ``(*U, S, D)``."""
        corners = self.mean.shape[-1] + (not self.dummy)
        logits = self.mean.new_zeros(*labels.shape, corners)
        logits.scatter_(-1, labels.clamp_min(0).unsqueeze(-1), self.target)
        return logits if self.dummy else logits[..., :-1] - logits[..., -1:]
