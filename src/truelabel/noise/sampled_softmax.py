r"""The mean of a softmax whose logits are Gaussian, by sampling, in memory that does not grow with the samples.

.. math:: u_s = \mu + V \epsilon_s + d \odot \varepsilon_s, \qquad
          \log p_k = \log \frac{1}{M} \sum_{s=1}^{M} \operatorname{softmax}(u_s)_k

The mean is taken in log space, so it is exact for logits of any size. Samples pass through in tiles that fit a cache:

- :func:`log_mean_softmax_at` needs labels. One pass over fresh draws, a tile at a time, gives the log probabilities and
  all that their gradient needs; no draw is kept or repeated. On a GPU with Triton it is one kernel, without tiles.
- :func:`log_mean_softmax` gives all classes. Its gradient goes through the samples a second time, so it takes the draws
  as a tensor, which all examples share. Nothing reads the state of a generator; a CUDA graph may hold both.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from truelabel.kernels import kernels_work

TILE_ON_CPU = 2**18
"""Numbers in a tile: with its noise, 2 MiB in float32, near the core and long enough to hide the cost of a call."""

TILE_ELSEWHERE = 2**25
"""Numbers in a tile on an accelerator, where launching a kernel costs more than memory."""

SUMS_IN_REGISTERS = 128
"""Sums K (2 + Q) for the gradient that the Triton kernel keeps for each of its lanes, which have 255 registers."""

Normal = Callable[[Tensor], Tensor]
"""Fills a tensor with standard normal numbers and returns it."""


class GaussianLatent(NamedTuple):
    """Independent Gaussian logits of every unit, with covariance V Vᵀ + diag(d²).

    Attributes:
        location: ``(*U, K)``, the mean.
        scale: ``(*U, K)``, d.
        factors: ``(*U, K, Q)``, V; Q may be zero.
    """

    location: Tensor
    scale: Tensor
    factors: Tensor


class Draws(NamedTuple):
    """Standard normal numbers that all examples share.

    Attributes:
        common: ``(Q, M, *space)``, ϵ, what multiplies V; ``space`` is ``(H, W)`` if logits are upsampled, else empty.
        own: ``(K, M, *space)``, ε, what multiplies d.
    """

    common: Tensor
    own: Tensor


def log_mean_softmax_at(
    latent: GaussianLatent, labels: Tensor, samples: int, normal: Normal = Tensor.normal_
) -> Tensor:
    r"""Log mean softmax at given labels, with draws of its own for every unit: one pass, forward and backward.

    With :math:`s = \operatorname{softmax}(u)` and weights :math:`w_s \propto s_{s,y}` that sum to one, the gradient is

    .. math:: \nabla_\mu = \sum_s w_s (e_y - s_s), \quad \nabla_V = \sum_s w_s (e_y - s_s) \epsilon_s^\top, \quad
              \nabla_d = \sum_s w_s (e_y - s_s) \odot \varepsilon_s,

    sums that the forward pass takes along, relative to the largest :math:`\log s_{s,y}` so far. Memory is
    O(|U| S K (1 + Q)) and a tile.

    Args:
        latent: logits of the units.
        labels: ``(*U, S)`` in 0..K-1.
        samples: M.
        normal: where draws come from; torch's default generator of the device unless given.

    Returns:
        ``(*U, S)``.

    Example:
        >>> import torch
        >>> latent = GaussianLatent(torch.zeros(5, 2), torch.ones(5, 2), torch.zeros(5, 2, 0))
        >>> log_mean_softmax_at(latent, torch.ones(5, 1, dtype=torch.long), samples=10_000).exp().round(decimals=1)
        tensor([[0.5000],
                [0.5000],
                [0.5000],
                [0.5000],
                [0.5000]])
    """
    loading = torch.cat([latent.location.unsqueeze(-1), latent.factors], -1).flatten(0, -3)
    one_pass: Any = _OnePass
    values: Tensor = one_pass.apply(loading, latent.scale.flatten(0, -2), labels.flatten(0, -2), samples, normal)
    return values.view(labels.shape)


def runs_as_one_kernel(loading: Tensor, scale: Tensor, normal: Normal) -> bool:
    """Whether one Triton kernel does the pass: ``loading (U, K, 1 + Q)``, in float32 on a GPU.

    Sums must fit the registers, draws come from torch's default generator, and kernels work there.
    """
    classes, columns = loading.shape[1:]
    return (
        all(tensor.is_cuda and tensor.dtype == torch.float32 for tensor in (loading, scale))
        and classes * (columns + 1) <= SUMS_IN_REGISTERS
        and normal is Tensor.normal_
        and kernels_work(loading.device)
    )


class _OnePass(torch.autograd.Function):
    """``loading (U, K, 1 + Q)``: the mean and V side by side, for the mean is a factor whose draw is always one."""

    @staticmethod
    def forward(ctx: Any, loading: Tensor, scale: Tensor, labels: Tensor, samples: int, normal: Normal) -> Tensor:
        units, slots = labels.shape
        classes, columns = loading.shape[1:]
        if runs_as_one_kernel(loading, scale, normal):
            from truelabel.noise.sampled_softmax_kernel import label_sums

            values, *gradients = label_sums(loading, scale, labels, samples)
            ctx.save_for_backward(*gradients)
            return values
        values = loading.new_empty(units, slots)
        to_loading = loading.new_zeros(units, slots, columns, classes)
        to_scale = loading.new_zeros(units, slots, classes)
        block, chunk = _tile(units, samples, classes, loading.device)
        noise, scratch = loading.new_empty(block * classes * chunk), loading.new_empty(block * classes * chunk)
        for start in range(0, units, block):
            here = slice(start, min(start + block, units))
            sums = _LabelSums(loading[here], scale[here], labels[here], to_loading[here], to_scale[here])
            for first in range(0, samples, chunk):
                sums.add(min(chunk, samples - first), noise, scratch, normal)
            values[here] = sums.finish(samples)
        ctx.save_for_backward(to_loading, to_scale)
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        to_loading, to_scale = ctx.saved_tensors
        grad = grad.unsqueeze(-1)
        return (grad.unsqueeze(-1) * to_loading).sum(1).mT, (grad * to_scale).sum(1), None, None, None


class _LabelSums:
    """Running sums over the samples of a block of n units, relative to the largest log probability of the label so far.

    Tiles are ``(n, K, c)``: with the samples last, every operation runs along contiguous memory however few the
    classes. Products are in place, which autocast leaves in full precision.
    """

    def __init__(self, loading: Tensor, scale: Tensor, labels: Tensor, to_loading: Tensor, to_scale: Tensor) -> None:
        self.loading, self.scale, self.labels = loading, scale.unsqueeze(-1), labels.unsqueeze(-1)
        self.to_loading, self.to_scale = to_loading, to_scale  # (n, S, J, K), (n, S, K)
        self.peak = torch.full_like(labels, -torch.inf, dtype=loading.dtype)
        self.mass = loading.new_zeros(*labels.shape, loading.shape[-1])  # Σ w (1, ϵ): (n, S, J)
        self.own_mass = torch.zeros_like(self.peak)  # Σ w ε_y: (n, S)

    def add(self, chunk: int, noise: Tensor, scratch: Tensor, normal: Normal) -> None:
        n, classes, columns = self.loading.shape
        shape, slots = (n, classes, chunk), self.labels.shape[1]
        own = normal(noise[: n * classes * chunk].view(shape))
        common = own.new_ones(n, 1, chunk)
        if columns > 1:
            common = torch.cat([common, normal(own.new_empty(n, columns - 1, chunk))], 1)
        logits = torch.mul(own, self.scale, out=scratch[: own.numel()].view(shape)).baddbmm_(self.loading, common)
        logits.sub_(logits.amax(1, keepdim=True))
        label = self.labels.expand(n, slots, chunk)
        at_label = logits.gather(1, label)
        odds = logits.exp_()
        total = odds.sum(1, keepdim=True)
        log_probs = at_label.sub_(total.log())

        peak = torch.maximum(self.peak, log_probs.amax(-1))
        fade = (self.peak - peak).exp_()
        self.peak = peak
        weight = log_probs.sub_(peak.unsqueeze(-1)).exp_()
        spread = weight.unsqueeze(2) * common.unsqueeze(1)
        self.mass.mul_(fade.unsqueeze(-1)).add_(spread.sum(-1))
        self.own_mass.mul_(fade).add_((weight * own.gather(1, label)).sum(-1))
        spread.div_(total.unsqueeze(1))
        to_loading = self.to_loading.mul_(fade[..., None, None]).flatten(1, 2)
        to_loading.baddbmm_(spread.flatten(1, 2), odds.mT)
        self.to_scale.mul_(fade.unsqueeze(-1)).baddbmm_(weight.div_(total), own.mul_(odds).mT)

    def finish(self, samples: int) -> Tensor:
        """Turn the sums into gradients, where they are, and give the log means ``(n, S)``."""
        mass = self.mass[..., 0]
        self.to_scale.neg_().scatter_add_(-1, self.labels, self.own_mass.unsqueeze(-1)).div_(mass.unsqueeze(-1))
        label = self.labels.unsqueeze(-1).expand(*self.mass.shape, 1)
        self.to_loading.neg_().scatter_add_(-1, label, self.mass.unsqueeze(-1)).div_(mass[..., None, None])
        return self.peak + (mass / samples).log()


def log_mean_softmax(latent: GaussianLatent, draws: Draws, upsample: int = 1) -> Tensor:
    """Log mean softmax of every class, with draws that all examples share.

    With ``upsample`` above one, units are ``(N, H, W)`` and the sampled *logits* are enlarged by bilinear
    interpolation before the softmax: sampling stays at low resolution (Appendix E of Collier 2020).

    Args:
        latent: logits of the units.
        draws: M standard normal draws, one set for each pixel if ``upsample`` is above one.
        upsample: how many times higher and wider the result is.

    Returns:
        ``(*U, K)``, or ``(N, upsample H, upsample W, K)``.

    Example:
        >>> import torch
        >>> latent = GaussianLatent(torch.tensor([[0.0, -1e4]]), torch.ones(1, 2), torch.zeros(1, 2, 0))
        >>> log_mean_softmax(latent, Draws(torch.zeros(0, 3), torch.zeros(2, 3)))
        tensor([[     0., -10000.]])
    """
    loading, scale = _class_first(latent, upsample)
    common = torch.cat([torch.ones_like(draws.own[:1]), draws.common])
    two_pass: Any = _TwoPass
    log_probs: Tensor = two_pass.apply(loading, scale, common, draws.own, upsample)
    return _class_last(log_probs, latent, upsample)


def softmax_variance(latent: GaussianLatent, draws: Draws, probs: Tensor, upsample: int = 1) -> Tensor:
    """Variance over draws of every class probability, given their mean ``probs``: shaped like it, without gradient."""
    with torch.no_grad(), _full_precision(probs.device):
        loading, scale = _class_first(latent, upsample)
        common = torch.cat([torch.ones_like(draws.own[:1]), draws.common])
        mean = probs.movedim(-1, 1) if upsample > 1 else probs.flatten(0, -2)
        variance = torch.zeros_like(mean)
        for units, chosen in _tiles(loading, draws.own, upsample):
            log_probs = _log_softmax(loading[units], scale[units], common[:, chosen], draws.own[:, chosen], upsample)
            variance[units] += (log_probs.exp_() - mean[units].unsqueeze(2)).square_().sum(2)
        return _class_last(variance / draws.own.shape[1], latent, upsample)


class _TwoPass(torch.autograd.Function):
    """``loading (n, K, 1 + Q, *space)``, ``scale (n, K, *space)``; tiles are ``(n, K, c, *space)``."""

    @staticmethod
    def forward(ctx: Any, loading: Tensor, scale: Tensor, common: Tensor, own: Tensor, upsample: int) -> Tensor:
        space = [upsample * side for side in scale.shape[2:]]
        log_mean = scale.new_full((*scale.shape[:2], *space), -torch.inf)
        with _full_precision(scale.device):
            for units, chosen in _tiles(loading, own, upsample):
                log_probs = _log_softmax(loading[units], scale[units], common[:, chosen], own[:, chosen], upsample)
                log_mean[units] = torch.logaddexp(log_mean[units], log_probs.logsumexp(2))
        log_mean -= math.log(own.shape[1])
        ctx.save_for_backward(loading, scale, common, own, log_mean)
        ctx.upsample = upsample
        return log_mean

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        loading, scale, common, own, log_mean = ctx.saved_tensors
        to_loading, to_scale = torch.zeros_like(loading), torch.zeros_like(scale)
        with _full_precision(scale.device):
            for units, chosen in _tiles(loading, own, ctx.upsample):
                leaves = loading[units].detach().requires_grad_(), scale[units].detach().requires_grad_()
                with torch.enable_grad():
                    log_probs = _log_softmax(*leaves, common[:, chosen], own[:, chosen], ctx.upsample)
                share = (log_probs.detach() - log_mean[units].unsqueeze(2)).exp_().mul_(grad[units].unsqueeze(2))
                parts = torch.autograd.grad(log_probs, leaves, share.div_(own.shape[1]))
                to_loading[units] += parts[0]
                to_scale[units] += parts[1]
        return to_loading, to_scale, None, None, None


def _log_softmax(loading: Tensor, scale: Tensor, common: Tensor, own: Tensor, upsample: int) -> Tensor:
    logits = torch.einsum("nkj...,jc...->nkc...", loading, common) + scale.unsqueeze(2) * own
    if upsample > 1:
        flat = functional.interpolate(logits.flatten(1, 2), scale_factor=upsample, mode="bilinear", align_corners=False)
        logits = flat.unflatten(1, logits.shape[1:3])
    return logits.log_softmax(1)


def _class_first(latent: GaussianLatent, upsample: int) -> tuple[Tensor, Tensor]:
    """``(N, K, 1 + Q, H, W)`` and ``(N, K, H, W)`` for upsampling; otherwise units are flat: ``(|U|, K, 1 + Q)``."""
    loading = torch.cat([latent.location.unsqueeze(-1), latent.factors], -1)
    if upsample == 1:
        return loading.flatten(0, -3), latent.scale.flatten(0, -2)
    return loading.movedim((-2, -1), (1, 2)), latent.scale.movedim(-1, 1)


def _class_last(values: Tensor, latent: GaussianLatent, upsample: int) -> Tensor:
    return values.movedim(1, -1) if upsample > 1 else values.view(latent.location.shape)


def _tiles(loading: Tensor, own: Tensor, upsample: int) -> Iterator[tuple[slice, slice]]:
    """Slices of units and of samples that cover all pairs."""
    units, samples = loading.shape[0], own.shape[1]
    size = loading.shape[1] * upsample**2 * own[0, 0].numel() if upsample > 1 else loading.shape[1]
    block, chunk = _tile(units, samples, size, loading.device)
    for start in range(0, units, block):
        for first in range(0, samples, chunk):
            yield slice(start, start + block), slice(first, first + chunk)


def _tile(units: int, samples: int, size: int, device: torch.device) -> tuple[int, int]:
    """How many units and samples of ``size`` numbers each go into a tile: all samples of a unit if they fit."""
    tile = TILE_ON_CPU if device.type == "cpu" else TILE_ELSEWHERE
    chunk = min(samples, max(1, tile // size))
    return min(units, max(1, tile // (size * chunk))), chunk


def _full_precision(device: torch.device) -> contextlib.AbstractContextManager[Any]:
    """Sampling in bfloat16 would lose small probabilities."""
    if torch.amp.is_autocast_available(device.type):
        return torch.autocast(device.type, enabled=False)
    return contextlib.nullcontext()
