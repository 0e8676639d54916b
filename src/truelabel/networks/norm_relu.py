"""Batch norm and ReLU, one after the other, in few kernels on a GPU."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from truelabel.kernels import is_watched, kernels_work
from truelabel.networks.batch_norm import BatchNorm2d
from truelabel.networks.conv_stack import MOST_NUMBERS, MULTIPROCESSORS

NUMBERS = 4096
"""Of a block that a program has before it at once."""

WARPS = 8

AT_ONCE = 2
"""Programs of a multiprocessor where sums over all places are shared out."""

_ENDED: WeakKeyDictionary[BatchNorm2d, Tensor] = WeakKeyDictionary()


def norm_relu(norm: nn.Module, maps: Tensor, added: Tensor | None = None) -> Tensor:
    r"""Batch norm in training or evaluation, plus what is ``added``, and ReLU.

    .. math:: y = \max\Bigl(0,\; \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}} \gamma + \beta + a\Bigr)

    torch has five kernels for it and three for the way back, which read the maps again and again; those here read them
    twice. They run in training, for maps on a GPU whose channels lie side by side (``torch.channels_last``), and can be
    differentiated once; their sums have a fixed order: equal inputs give equal bits.

    Args:
        norm: batch norm; kernels are for :class:`BatchNorm2d` only, and not for what several processes share.
        maps: ``(N, C, H, W)``.
        added: of the same shape.

    Returns:
        ``(N, C, H, W)``.

    Example:
        >>> norm_relu(BatchNorm2d(2), torch.randn(3, 2, 4, 4)).min().item()
        0.0
    """
    if isinstance(norm, BatchNorm2d) and is_fused(norm, maps, added):
        return _fused(norm, maps, added)
    normed: Tensor = norm(maps)
    return functional.relu(normed if added is None else normed + added, inplace=True)


def is_fused(norm: BatchNorm2d, maps: Tensor, added: Tensor | None = None) -> bool:
    """Whether kernels are used: in training, channels last on a GPU where they work; not under torch.compile."""
    tensors = [maps] if added is None else [maps, added]
    return (
        norm.training
        and maps.is_cuda
        and all(_fits(tensor, maps) for tensor in tensors)
        and norm.weight.dtype == torch.float32
        and norm.weight.device == maps.device
        and maps.shape[1] == norm.num_features
        and not is_watched(norm)
        and kernels_work(maps.device)
    )


def _fits(tensor: Tensor, maps: Tensor) -> bool:
    return (
        tensor.dim() == 4
        and (tensor.shape, tensor.dtype, tensor.device) == (maps.shape, maps.dtype, maps.device)
        and tensor.dtype in (torch.float32, torch.bfloat16, torch.float16)
        and tensor.is_contiguous(memory_format=torch.channels_last)
        and tensor.shape[1] < tensor.numel() <= MOST_NUMBERS  # of one place there is no deviation, as torch says
    )


def _fused(norm: BatchNorm2d, maps: Tensor, added: Tensor | None) -> Tensor:
    function: Any = _NormReLU
    values: Tensor = function.apply(norm, maps, added, norm.weight, norm.bias)
    return values


class _Parts(NamedTuple):
    """How a matrix of maps is shared out.

    Attributes:
        rows: N H W.
        channels: C.
    """

    rows: int
    channels: int

    @property
    def block(self) -> dict[str, int]:
        """Constants of kernels that see a block at once."""
        c_block = min(64, max(16, 1 << (self.channels - 1).bit_length()))
        return {"C": self.channels, "R_BLOCK": NUMBERS // c_block, "C_BLOCK": c_block, "num_warps": WARPS}

    @property
    def blocks(self) -> tuple[int, int]:
        """Blocks of all rows, and of the channels of a row."""
        block = self.block
        return -(-self.rows // block["R_BLOCK"]), -(-self.channels // block["C_BLOCK"])

    @property
    def summing(self) -> dict[str, int]:
        """Constants of kernels that sum over all rows: blocks of a program one after another, and programs."""
        down, across = self.blocks
        rounds = -(-down // max(1, AT_ONCE * MULTIPROCESSORS // across))
        return self.block | {"ROUNDS": rounds, "PROGRAMS": -(-down // rounds), "P_BLOCK": self.block["R_BLOCK"]}


class _NormReLU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, norm: BatchNorm2d, maps: Tensor, added: Tensor | None, weight: Tensor, bias: Tensor
    ) -> Tensor:
        with torch.cuda.device_of(maps):
            return _NormReLU._forward(ctx, norm, maps, added, weight, bias)

    @staticmethod
    def _forward(
        ctx: Any, norm: BatchNorm2d, maps: Tensor, added: Tensor | None, weight: Tensor, bias: Tensor
    ) -> Tensor:
        parts = _Parts(maps.numel() // maps.shape[1], maps.shape[1])
        found = weight.new_empty(2, parts.channels)
        sums, ended = _sums(norm, parts)
        _kernels().moments[parts.summing["PROGRAMS"], parts.blocks[1]](
            maps,
            found,
            norm.running_mean,
            norm.running_var,
            sums,
            ended,
            parts.rows,
            norm.momentum,
            norm.eps,
            **parts.summing,
        )
        out = torch.empty_like(maps)
        _kernels().forward[parts.blocks](
            maps, found, weight, bias, added, out, parts.rows, ADDED=added is not None, **parts.block
        )
        # Without an addition the sign of what came out is known from what came in.
        ctx.save_for_backward(maps, found, weight, bias, None if added is None else out)
        ctx.norm, ctx.parts = norm, parts
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        maps, found, weight, bias, out = ctx.saved_tensors
        parts: _Parts = ctx.parts
        gradient = gradients[0].contiguous(memory_format=torch.channels_last)
        with_addition = out is not None
        of_added = torch.empty_like(maps) if with_addition else None
        of_weights = torch.empty_like(found)
        sums, ended = _sums(ctx.norm, parts)
        _kernels().to_weights[parts.summing["PROGRAMS"], parts.blocks[1]](
            gradient,
            maps,
            out,
            found,
            weight,
            bias,
            of_added,
            of_weights,
            sums,
            ended,
            parts.rows,
            ADDED=with_addition,
            **parts.summing,
        )
        of_maps = torch.empty_like(maps)
        _kernels().to_maps[parts.blocks](
            of_added if with_addition else gradient,
            maps,
            found,
            weight,
            bias,
            of_weights,
            of_maps,
            parts.rows,
            ADDED=with_addition,
            **parts.block,
        )
        return None, of_maps, of_added, of_weights[0], of_weights[1]


def _sums(norm: BatchNorm2d, parts: _Parts) -> tuple[Tensor, Tensor]:
    """Room for the sums of programs and, for every block of channels, the count of those that have ended.

    The count is zero before and after a launch, and lives as long as the layer: nobody has to set it to zero. But what
    is made while a graph is recorded is not zero before the graph runs, and is for that graph alone.
    """
    device = norm.weight.device
    ended = _ENDED.get(norm)
    if ended is None or ended.device != device:
        ended = torch.zeros(parts.blocks[1], dtype=torch.int32, device=device)
        if not (ended.is_cuda and torch.cuda.is_current_stream_capturing()):
            _ENDED[norm] = ended
    return norm.weight.new_empty(parts.summing["PROGRAMS"], 2, parts.channels), ended


def _kernels() -> Any:
    from truelabel.networks import norm_relu_kernels

    return norm_relu_kernels
