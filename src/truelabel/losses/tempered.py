r"""The tempered softmax and the bi-tempered loss (Amid 2019).

.. math:: \log_t(u) = \frac{u^{1-t} - 1}{1 - t}, \quad \exp_t(u) = [1 + (1-t) u]_+^{1/(1-t)}
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from truelabel.kernels import kernels_work
from truelabel.losses.loss import from_logits, require_probabilities
from truelabel.types import Batch, Prediction

NEWTON_STEPS = 12
BISECTIONS = 60

MOST_IN_KERNEL = 1024
"""Classes of a unit that a program of the kernel holds at once."""


def tempered_softmax(activations: Tensor, temperature: float) -> Tensor:
    r"""Probabilities :math:`\exp_t(a_k - \lambda(a))` with :math:`\lambda` such that they sum to one (Amid 2019).

    A temperature above one has heavy tails, one below has a finite support, and one is softmax. The answer does not
    change when a constant is added to the activations, so log probabilities will do. The gradient is exact, by implicit
    differentiation.

    Args:
        activations: ``(..., K)``.
        temperature: t > 0.

    Returns:
        ``(..., K)``.

    Example:
        >>> tempered_softmax(torch.tensor([0.0, 4.0]), temperature=2.0)
        tensor([0.1910, 0.8090])
    """
    _check_temperature("temperature", temperature)
    function: Any = _TemperedSoftmax
    probs: Tensor = function.apply(activations, temperature)
    return probs


@dataclass(frozen=True)
class BiTempered:
    r"""Bregman divergence of :math:`\log_{t_1}` between the label and a tempered softmax with :math:`t_2`.

    .. math:: \sum_k \left[ e_k (\log_{t_1} e_k - \log_{t_1} \hat y_k) - \tfrac{1}{2 - t_1}
        (e_k^{2 - t_1} - \hat y_k^{2 - t_1}) \right], \quad \hat y = \exp_{t_2}(a - \lambda(a))

    :math:`t_1 < 1` bounds the loss, :math:`t_2 > 1` gives the softmax heavy tails; :math:`t_1 = t_2 = 1` is cross
    entropy. The activations are the log likelihood of what was said.

    Args:
        t1: temperature of the loss, below 2.
        t2: temperature of the softmax.

    Example:
        >>> from truelabel.losses import from_logits
        >>> from_logits(BiTempered(1.0, 1.0), torch.zeros(1, 2), torch.tensor([1]))
        tensor([0.6931])
    """

    t1: float = 0.7
    t2: float = 2.0

    def __post_init__(self) -> None:
        _check_temperature("t2", self.t2)
        if not 0 <= self.t1 < 2:
            raise ValueError(f"t1 must lie in [0, 2), got {self.t1!r}")
        if self.t1 > self.t2:
            raise ValueError(f"t1 must not exceed t2, or its gradient is unbounded; got {self.t1!r} and {self.t2!r}")

    def __call__(self, prediction: Prediction, batch: Batch) -> Tensor:
        require_probabilities(prediction, "the bi-tempered loss")
        activations = prediction.noisy.all()
        classes = activations.shape[-1]
        if batch.soft is None:
            targets = torch.zeros(*batch.labels.shape, classes, dtype=activations.dtype, device=activations.device)
            targets.scatter_(-1, batch.labels.clamp_min(0).unsqueeze(-1), 1.0)
        else:
            targets = batch.soft
        function: Any = _BiTempered
        values: Tensor = function.apply(activations.expand(targets.shape), targets, self.t1, self.t2)
        return values


def bi_tempered(logits: Tensor, labels: Tensor, t1: float = 0.7, t2: float = 2.0) -> Tensor:
    """Bi-tempered logistic loss for one's own loop; see :class:`BiTempered` (Amid 2019).

    Args:
        logits: ``(*U, K)``.
        labels: ``(*U,)`` integers, -1 where missing, or soft targets ``(*U, K)`` that are not negative.
        t1: temperature of the loss.
        t2: temperature of the softmax.

    Returns:
        ``(*U,)`` unreduced.

    Example:
        >>> bi_tempered(torch.tensor([[0.0, 4.0]]), torch.tensor([1]), t1=1.0, t2=1.0)
        tensor([0.0181])
    """
    return from_logits(BiTempered(t1, t2), logits, labels)


class _TemperedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, activations: Tensor, temperature: float) -> Tensor:
        probs = _probs(activations, temperature)
        ctx.save_for_backward(probs)
        ctx.temperature = temperature
        return probs

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (probs,) = ctx.saved_tensors
        slope = probs.pow(ctx.temperature)
        mean = (gradients[0] * slope).sum(-1, keepdim=True) / slope.sum(-1, keepdim=True)
        return slope * (gradients[0] - mean), None


class _BiTempered(torch.autograd.Function):
    """Loss and softmax in one: their slopes may be infinite and zero where only the product is finite."""

    @staticmethod
    def forward(ctx: Any, activations: Tensor, targets: Tensor, t1: float, t2: float) -> Tensor:
        probs = _probs(activations, t2)
        ctx.save_for_backward(probs, targets)
        ctx.t1, ctx.t2 = t1, t2
        tiny = torch.finfo(probs.dtype).tiny
        gap = targets * (_log_t(targets.clamp_min(tiny), t1) - _log_t(probs.clamp_min(tiny), t1))
        return (gap - (targets.pow(2 - t1) - probs.pow(2 - t1)) / (2 - t1)).sum(-1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Any) -> Any:
        probs, targets = ctx.saved_tensors
        pull = (probs - targets) * probs.pow(ctx.t2 - ctx.t1)
        share = probs.pow(ctx.t2)
        slope = pull - pull.sum(-1, keepdim=True) * share / share.sum(-1, keepdim=True)
        return gradients[0].unsqueeze(-1) * slope, None, None, None


def _probs(activations: Tensor, t: float) -> Tensor:
    if t == 1:
        return activations.softmax(-1)
    gaps = activations.amax(-1, keepdim=True) - activations
    shift = _heavy_shift(gaps, t) if t > 1 else _light_shift(gaps, t)
    probs = _exp_t(-(gaps + shift), t)
    return probs / probs.sum(-1, keepdim=True)


def _heavy_shift(gaps: Tensor, t: float) -> Tensor:
    r"""For t > 1: the shift of the largest activation, :math:`\lambda - \max a \ge 0`.

    Newton's method on :math:`\log \sum_k \exp_t(\cdot)` as a function of :math:`s = \log(1 + (t-1)\,\mathrm{shift})`,
    where it is nearly a straight line, kept inside the bracket that it narrows: the same number of steps for all.
    """
    fits = gaps.dtype == torch.float32 and gaps.shape[-1] <= MOST_IN_KERNEL
    if gaps.is_cuda and fits and kernels_work(gaps.device):
        from truelabel.losses.tempered_kernel import heavy_shift

        return heavy_shift(gaps, t, NEWTON_STEPS)
    scaled = (t - 1) * gaps
    low = torch.zeros_like(gaps[..., :1])
    high = torch.full_like(low, (t - 1) * math.log(gaps.shape[-1]))
    point = low
    for _ in range(NEWTON_STEPS):
        grown = point.exp()
        logs = (grown + scaled).log().neg_() / (t - 1)
        total = logs.logsumexp(-1, keepdim=True)
        weights = (logs - total).exp()
        slope = -(weights * grown / (grown + scaled)).sum(-1, keepdim=True) / (t - 1)
        low, high = torch.where(total > 0, point, low), torch.where(total > 0, high, point)
        step = point - total / slope
        point = torch.where((step >= low) & (step <= high), step, (low + high) / 2)
    return point.expm1() / (t - 1)


def _light_shift(gaps: Tensor, t: float) -> Tensor:
    """For t < 1: the same shift, by bisection, because the support changes with it."""
    low = torch.zeros_like(gaps[..., :1])
    high = torch.full_like(low, -_log_t_scalar(1 / gaps.shape[-1], t))
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        over = _exp_t(-(gaps + middle), t).sum(-1, keepdim=True) > 1
        low, high = torch.where(over, middle, low), torch.where(over, high, middle)
    return (low + high) / 2


def _exp_t(u: Tensor, t: float) -> Tensor:
    return (1 + (1 - t) * u).clamp_min(0).pow(1 / (1 - t))


def _log_t(u: Tensor, t: float) -> Tensor:
    return u.log() if t == 1 else (u.pow(1 - t) - 1) / (1 - t)


def _log_t_scalar(u: float, t: float) -> float:
    return math.log(u) if t == 1 else (u ** (1 - t) - 1) / (1 - t)


def _check_temperature(name: str, value: float) -> None:
    if not value > 0:
        raise ValueError(f"{name} must be positive, got {value!r}")
