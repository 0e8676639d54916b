"""Group norm and leaky ReLU, one after the other, in two kernels on a GPU."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from truelabel.kernels import kernels_work

NUMBERS = 8192
"""Of a block that a program has before it at once."""

WARPS = 16

MOST_GROUPS = 8
"""With more of them torch's operations are used; of each the kernels make a sum of its own."""

MOST_CHANNELS = 1024


class LeakyGroupNorm(nn.GroupNorm):
    r"""Group norm and leaky ReLU of maps plus a learned shift of every channel: the bias of the convolution before it.

    .. math:: y = \max(x', 0) + s \min(x', 0), \qquad
        x' = \frac{x + b_c - \mu_g}{\sqrt{\sigma_g^2 + \epsilon}} \gamma_c + \beta_c

    In mixed precision torch has maps normalised in float32 and in the usual order of memory, which for maps in bfloat16
    whose channels lie side by side are four copies there and back; the bias of a convolution reads and writes them all
    once more, and its gradient is slower than the convolution. Such maps have two kernels on a GPU, which can be
    differentiated once, and whose sums have a fixed order: equal inputs give equal bits.

    Args:
        num_groups: G.
        num_channels: C.
        slope: s.
        shift: b ``(C,)`` at the start; None for no shift.

    Shapes: ``(N, C, H, W) -> (N, C, H, W)``.

    Example:
        >>> LeakyGroupNorm(2, 4)(torch.rand(3, 4, 5, 5)).shape
        torch.Size([3, 4, 5, 5])
    """

    def __init__(self, num_groups: int, num_channels: int, slope: float = 0.01, shift: Tensor | None = None) -> None:
        super().__init__(num_groups, num_channels)
        self.slope = slope
        self.shift = None if shift is None else nn.Parameter(shift.detach().clone())

    def extra_repr(self) -> str:
        """With the slope."""
        return f"{super().extra_repr()}, slope={self.slope}"

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002  # as torch names it
        if _is_fused(self, input):
            return _fused(self, input)
        shifted = input if self.shift is None else input + self.shift[:, None, None]
        return functional.leaky_relu(super().forward(shifted), self.slope, inplace=True)


def _is_fused(norm: LeakyGroupNorm, maps: Tensor) -> bool:
    """Whether kernels are used: for maps on a GPU whose channels lie side by side; not under torch.compile."""
    return (
        maps.is_cuda
        and maps.dim() == 4
        and maps.shape[1] == norm.num_channels <= MOST_CHANNELS
        and norm.num_groups <= MOST_GROUPS
        and 0 < maps.numel() < 2**31
        and maps.dtype in (torch.float32, torch.bfloat16, torch.float16)
        and maps.is_contiguous(memory_format=torch.channels_last)
        and norm.weight.dtype == torch.float32
        and norm.weight.device == maps.device
        and kernels_work(maps.device)
    )


def _fused(norm: LeakyGroupNorm, maps: Tensor) -> Tensor:
    function: Any = _Function
    values: Tensor = function.apply(norm.num_groups, norm.eps, norm.slope, maps, norm.shift, norm.weight, norm.bias)
    return values


class _Function(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        groups: int,
        eps: float,
        slope: float,
        maps: Tensor,
        shift: Tensor | None,
        weight: Tensor,
        bias: Tensor,
    ) -> Tensor:
        n, channels, height, width = maps.shape
        c_block = 1 << (channels - 1).bit_length()
        constants = {
            "AREA": height * width,
            "C": channels,
            "GROUPS": groups,
            "R_BLOCK": max(1, min(NUMBERS // c_block, 1 << (height * width - 1).bit_length())),
            "C_BLOCK": c_block,
            "num_warps": WARPS,
        }
        out, found = torch.empty_like(maps), weight.new_empty(n, 2, channels)
        with torch.cuda.device_of(maps):
            _kernels().forward[(n,)](maps, shift, weight, bias, out, found, eps, slope, **constants)
        ctx.save_for_backward(maps, weight, bias, found)
        ctx.slope, ctx.constants = slope, constants
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        maps, weight, bias, found = ctx.saved_tensors
        gradient = gradients[0].contiguous(memory_format=torch.channels_last)
        of_maps, parts = torch.empty_like(maps), found.new_empty(len(maps), 3, maps.shape[1])
        with torch.cuda.device_of(maps):
            _kernels().backward[(len(maps),)](
                gradient, maps, weight, bias, found, of_maps, parts, ctx.slope, **ctx.constants
            )
        of_weight, of_bias, of_shift = parts.sum(0)
        return None, None, None, of_maps, of_shift if ctx.needs_input_grad[4] else None, of_weight, of_bias


def _kernels() -> Any:
    from truelabel.networks import group_norm_kernels

    return group_norm_kernels
