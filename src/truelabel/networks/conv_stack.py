"""Small convolutions, one after another, in few kernels on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

MULTIPROCESSORS = 132
"""Of an H200; how finely the sums over all places are shared out."""

K_BLOCK = 32
"""Columns of a product at once."""


class Stage(NamedTuple):
    """A convolution that keeps the size of its maps, ReLU, and the largest of every ``pool`` x ``pool`` places.

    Attributes:
        weight: ``(O, C, S, S)``, S odd.
        bias: ``(O,)``.
        pool: 1 for none; it divides the size of the maps.
    """

    weight: Tensor
    bias: Tensor
    pool: int = 1


def conv_stack(inputs: Tensor, stages: Sequence[Stage]) -> Tensor:
    r"""Convolution, pooling and ReLU, stage after stage.

    .. math:: y_o = \max\Bigl(0,\; b_o + \max_{\text{pool}} \sum_{c} w_{oc} * x_c\Bigr)

    cuDNN takes some forty kernels for three such stages and their gradients, most of which cannot fill a GPU when maps
    are few and small. Here they are three forward and nine backward, and their sums have a fixed order: equal seeds
    give equal bits.

    Args:
        inputs: ``(N, C, H, W)``.
        stages: in order.

    Returns:
        ``(N, O, PH, PW)`` of the last stage.

    Example:
        >>> stages = [Stage(torch.zeros(4, 1, 5, 5), torch.ones(4), pool=2)]
        >>> conv_stack(torch.zeros(2, 1, 8, 8), stages).shape
        torch.Size([2, 4, 4, 4])
    """
    if is_fused(inputs, stages):
        return _fused(inputs, stages)
    maps = inputs
    for weight, bias, pool in stages:
        maps = functional.conv2d(maps, weight, bias, padding=weight.shape[-1] // 2)
        maps = functional.relu(functional.max_pool2d(maps, pool) if pool > 1 else maps)
    return maps


def is_fused(inputs: Tensor, stages: Sequence[Stage]) -> bool:
    """Whether kernels are used: for float32 on a GPU, outside mixed precision and torch.compile, if Triton is there."""
    tensors = [inputs, *(tensor for stage in stages for tensor in stage[:2])]
    return (
        all(tensor.is_cuda and tensor.dtype == torch.float32 for tensor in tensors)
        and not torch.is_autocast_enabled("cuda")
        and not torch.compiler.is_compiling()
        and find_spec("triton") is not None
    )


def _fused(inputs: Tensor, stages: Sequence[Stage]) -> Tensor:
    function: Any = _ConvStack
    flat = [tensor for stage in stages for tensor in stage[:2]]
    values: Tensor = function.apply(tuple(stage.pool for stage in stages), inputs, *flat)
    return values


class _ConvStack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pools: tuple[int, ...], inputs: Tensor, *flat: Tensor) -> Tensor:
        from truelabel.networks import conv_stack_kernels as kernels

        # (O, S, S, C), so that the numbers of a column lie side by side.
        weights = [weight.permute(0, 2, 3, 1).contiguous() for weight in flat[::2]]
        margins = [weight.shape[1] // 2 for weight in weights]
        n, _, height, width = inputs.shape
        maps = functional.pad(inputs.permute(0, 2, 3, 1), (0, 0, margins[0], margins[0], margins[0], margins[0]))
        maps = maps.contiguous()
        kept: list[Tensor] = []
        for number, (weight, bias, pool) in enumerate(zip(weights, flat[1::2], pools, strict=True)):
            outputs, size, _, channels = weight.shape
            padded = maps.shape[1:3]
            height, width = height // pool, width // pool
            last = number == len(weights) - 1
            margin = 0 if last else margins[number + 1]
            if last:
                out = inputs.new_empty(n, outputs, height, width)
                strides = out.stride(0), out.stride(2), out.stride(3), out.stride(1)
            else:
                out = inputs.new_zeros(n, height + 2 * margin, width + 2 * margin, outputs)
                strides = out.stride(0), out.stride(1), out.stride(2), out.stride(3)
            chosen = torch.empty(n, height, width, outputs, dtype=torch.uint8, device=inputs.device)
            rows, o_block = n * height * width, _power(outputs)
            m_block = 128 if o_block <= 32 else 64
            kernels.forward[(-(-rows // m_block),)](
                maps,
                weight,
                bias,
                out[:, margin:, margin:] if margin else out,
                chosen,
                rows,
                *strides,
                C=channels,
                PADDED_H=padded[0],
                PADDED_W=padded[1],
                SIZE=size,
                POOL=pool,
                PLACES_H=height,
                PLACES_W=width,
                OUT=outputs,
                M_BLOCK=m_block,
                K_BLOCK=K_BLOCK,
                O_BLOCK=o_block,
                num_warps=_warps(o_block),
            )
            kept += [maps, chosen]
            maps = out
        ctx.save_for_backward(*kept, *weights)
        ctx.pools = pools
        return maps

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        from truelabel.networks import conv_stack_kernels as kernels

        count = len(ctx.pools)
        saved = ctx.saved_tensors
        maps, chosen, weights = saved[: 2 * count : 2], saved[1 : 2 * count : 2], saved[2 * count :]
        margins = [weight.shape[1] // 2 for weight in weights]
        gradient = gradients[0].contiguous()
        n, outputs, height, width = gradient.shape
        sent, full = _room(maps[-1], margins[-1], outputs)
        rows = n * height * width
        kernels.through_last[(-(-rows // 32),)](
            gradient,
            chosen[-1],
            sent,
            rows,
            POOL=ctx.pools[-1],
            PLACES=height * width,
            PLACES_W=width,
            FULL_H=full[0],
            FULL_W=full[1],
            OUT=outputs,
            MARGIN=margins[-1],
            M_BLOCK=32,
            O_BLOCK=_power(outputs),
        )
        found: list[Tensor | None] = []
        for number in reversed(range(count)):
            found = [*_to_weight(kernels, maps[number], sent, weights[number], margins[number]), *found]
            if number or ctx.needs_input_grad[1]:
                before = number - 1
                sent = (
                    _to_maps(
                        kernels, sent, weights[number], chosen[before], ctx.pools[before], maps[before], margins[before]
                    )
                    if number
                    else _to_maps(kernels, sent, weights[0])
                )
        return None, sent.permute(0, 3, 1, 2) if ctx.needs_input_grad[1] else None, *found


def _to_weight(kernels: Any, maps: Tensor, sent: Tensor, weight: Tensor, margin: int) -> tuple[Tensor, Tensor]:
    outputs, size, _, channels = weight.shape
    height, width = maps.shape[1] - 2 * margin, maps.shape[2] - 2 * margin
    taps, rows = size * size * channels, maps.shape[0] * height * width
    tiles, o_block = -(-taps // K_BLOCK), _power(outputs)
    shares = max(1, min(2 * MULTIPROCESSORS // tiles, -(-rows // 256)))
    share = -(-rows // (shares * 32)) * 32
    parts = maps.new_empty(shares, (taps + 1) * outputs)
    kernels.to_weight[tiles, shares](
        maps,
        sent,
        parts,
        rows,
        SHARE=share,
        C=channels,
        PADDED_H=maps.shape[1],
        PADDED_W=maps.shape[2],
        SIZE=size,
        H=height,
        W=width,
        OUT=outputs,
        MARGIN=(sent.shape[1] - height) // 2,
        M_BLOCK=32,
        K_BLOCK=K_BLOCK,
        O_BLOCK=o_block,
        num_warps=_warps(o_block),
    )
    to_weight = maps.new_empty(outputs, channels, size, size)
    to_bias = maps.new_empty(outputs)
    kernels.add_up[(-(-(taps + 1) * outputs // 64),)](
        parts,
        to_weight,
        to_bias,
        PARTS=shares,
        C=channels,
        AREA=size * size,
        OUT=outputs,
        P_BLOCK=32,
        J_BLOCK=64,
    )
    return to_weight, to_bias


def _to_maps(
    kernels: Any,
    sent: Tensor,
    weight: Tensor,
    chosen: Tensor | None = None,
    pool: int = 0,
    below: Tensor | None = None,
    margin: int = 0,
) -> Tensor:
    """To the maps that a stage saw; on through the pooling before it, if that had ``chosen`` from maps ``below``."""
    outputs, size, _, channels = weight.shape
    n, height, width = sent.shape[0], sent.shape[1] - size + 1, sent.shape[2] - size + 1
    rows, full = n * height * width, (height, width)
    if below is None:
        out = sent.new_empty(n, height, width, channels)
    else:
        out, full = _room(below, margin, channels)
    m_block = 64 if rows > 64 * 4 * MULTIPROCESSORS else 32
    kernels.to_maps[(-(-rows // m_block),)](
        sent,
        weight,
        sent if chosen is None else chosen,
        out,
        rows,
        OUT=outputs,
        PADDED_H=sent.shape[1],
        PADDED_W=sent.shape[2],
        SIZE=size,
        PLACES_H=height,
        PLACES_W=width,
        C=channels,
        POOL=pool,
        FULL_H=full[0],
        FULL_W=full[1],
        MARGIN=margin,
        M_BLOCK=m_block,
        K_BLOCK=K_BLOCK,
        C_BLOCK=_power(channels),
    )
    return out


def _room(maps: Tensor, margin: int, outputs: int) -> tuple[Tensor, tuple[int, int]]:
    """Zeros for the gradient of a convolution of ``maps``, padded alike, and the size of what lies within."""
    return maps.new_zeros(*maps.shape[:3], outputs), (maps.shape[1] - 2 * margin, maps.shape[2] - 2 * margin)


def _warps(o_block: int) -> int:
    return 8 if o_block > 64 else 4


def _power(count: int) -> int:
    """The next power of two, and 16 at least, which is what the tensor cores take."""
    return max(16, 1 << (count - 1).bit_length())
