"""Small convolutions, one after another, in few kernels on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

from truelabel.kernels import kernels_work

MULTIPROCESSORS = 132
"""Of an H200; how finely the sums over all places are shared out."""

K_BLOCK = 32
"""Columns of a product at once."""

MOST_NUMBERS = 2**28
"""Of a matrix, or of maps: a gigabyte, and far from where addresses of 32 bits end."""

DIRECT = 32
"""Most maps that a convolution makes without its matrix being formed."""


class Stage(NamedTuple):
    """A convolution that keeps the size of its maps, ReLU, and the largest of every ``pool`` x ``pool`` places.

    Attributes:
        weight: ``(O, C, S, S)``, S odd.
        bias: ``(O,)``.
        pool: 1 for none; what it does not divide is cut off, as in torch.
    """

    weight: Tensor
    bias: Tensor
    pool: int = 1


def conv_stack(inputs: Tensor, stages: Sequence[Stage]) -> Tensor:
    r"""Convolution, pooling and ReLU, stage after stage.

    .. math:: y_o = \max\Bigl(0,\; b_o + \max_{\text{pool}} \sum_{c} w_{oc} * x_c\Bigr)

    cuDNN has kernels for many large maps. With few small ones, as in LeNet-5, the kernels here take less time, and
    their sums have a fixed order: equal inputs give equal bits. They can be differentiated once.

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
    """Whether kernels are used: for float32 on a GPU where they work, and torch's convolutions may be TF32.

    Not in mixed precision, under torch.compile, or where a matrix would have more than ``MOST_NUMBERS``; nor for sizes
    that do not fit each other, which torch has the words for.
    """
    tensors = [inputs, *(tensor for stage in stages for tensor in stage[:2])]
    return (
        all(tensor.device == inputs.device and tensor.dtype == torch.float32 for tensor in tensors)
        and inputs.is_cuda
        and not torch.is_autocast_enabled("cuda")
        and _fits(inputs, stages)
        and _tf32_allowed()
        and kernels_work(inputs.device)
    )


def _fits(inputs: Tensor, stages: Sequence[Stage]) -> bool:
    if inputs.dim() != 4 or not len(inputs):
        return False
    n, channels, height, width = inputs.shape
    for weight, bias, pool in stages:
        odd = weight.dim() == 4 and weight.shape[2] == weight.shape[3] and weight.shape[2] % 2 == 1
        if not odd or weight.shape[1] != channels or bias.shape != weight.shape[:1] or pool > min(height, width):
            return False
        if n * height * width * max(weight[0].numel(), len(weight)) > MOST_NUMBERS:
            return False
        channels, height, width = len(weight), height // pool, width // pool
    return True


def _tf32_allowed() -> bool:
    try:
        return torch.backends.cudnn.allow_tf32
    except RuntimeError:  # torch refuses to tell whoever has said it in its newer words
        precision: str = torch.backends.cudnn.conv.fp32_precision  # type: ignore[attr-defined]  # torch 2.9
        return precision != "ieee"


def _fused(inputs: Tensor, stages: Sequence[Stage]) -> Tensor:
    function: Any = _ConvStack
    flat = [tensor for stage in stages for tensor in stage[:2]]
    values: Tensor = function.apply(tuple(stage.pool for stage in stages), inputs, *flat)
    return values


class _Shape(NamedTuple):
    """Sizes of a stage: C, O, S, pool, H and W of what it sees, and the margin of zeros round that."""

    channels: int
    outputs: int
    size: int
    pool: int
    height: int
    width: int

    @property
    def margin(self) -> int:
        return self.size // 2

    @property
    def taps(self) -> int:
        return self.size**2 * self.channels

    @property
    def places(self) -> tuple[int, int]:
        """PH and PW of what it gives."""
        return self.height // self.pool, self.width // self.pool

    @property
    def by_matrix(self) -> bool:
        """Whether its matrix is formed, which pays where many maps are made of it and as many gradients go back."""
        return self.pool == 1 and self.outputs > DIRECT

    def padded(self, maps: int) -> tuple[int, int, int]:
        """Size of ``maps`` with the margin, channels last."""
        return self.height + 2 * self.margin, self.width + 2 * self.margin, maps

    def piece(self) -> tuple[int, int]:
        """Lines, as many as divide the height, and places of a line, 64 at most: what is summed at once."""
        width = min(64, _power(self.width))
        lines = 64 // width
        while self.height % lines:
            lines //= 2
        return lines, width

    def sees(self) -> dict[str, int]:
        """Constants of kernels that look at its maps."""
        height, width, _ = self.padded(0)
        return {"C": self.channels, "SIZE": self.size, "PADDED_H": height, "PADDED_W": width}


class _ConvStack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pools: tuple[int, ...], inputs: Tensor, *flat: Tensor) -> Tensor:
        with torch.cuda.device_of(inputs):
            return _ConvStack._forward(ctx, pools, inputs, *flat)

    @staticmethod
    def _forward(ctx: Any, pools: tuple[int, ...], inputs: Tensor, *flat: Tensor) -> Tensor:
        n, _, height, width = inputs.shape
        shapes: list[_Shape] = []
        for weight, pool in zip(flat[::2], pools, strict=True):
            shapes.append(_Shape(weight.shape[1], weight.shape[0], weight.shape[2], pool, height, width))
            height, width = shapes[-1].places
        # (O, S, S, C), so that the numbers of a column lie side by side.
        weights = [weight.permute(0, 2, 3, 1).contiguous() for weight in flat[::2]]
        maps = _padded(inputs, shapes[0])
        kept: list[Tensor] = []
        for shape, after, weight, bias in zip(shapes, [*shapes[1:], None], weights, flat[1::2], strict=True):
            if after is None:
                out = inputs.new_empty(n, shape.outputs, *shape.places)
                room = _Room(out, out.permute(0, 2, 3, 1), 0)
            else:
                out = inputs.new_empty(n, *after.padded(after.channels))
                room = _Room(out, out[:, after.margin :, after.margin :], after.margin)
            chosen = torch.empty(n, *shape.places, shape.outputs, dtype=torch.uint8, device=inputs.device)
            seen = _by_matrix if shape.by_matrix else _directly
            kept += [seen(shape, maps, weight, bias, room, chosen), chosen]
            maps = out
        ctx.save_for_backward(*kept, *weights)
        ctx.shapes = shapes
        return maps

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        shapes: list[_Shape] = ctx.shapes
        count = len(shapes)
        kept, weights = ctx.saved_tensors[: 2 * count], ctx.saved_tensors[2 * count :]
        seen, chosen = kept[::2], kept[1::2]
        sent, to_bias = _through_last(shapes[-1], gradients[0].contiguous(), chosen[-1])
        found: list[Tensor | None] = []
        for number in reversed(range(count)):
            shape, weight = shapes[number], weights[number]
            found = [_to_weight(shape, seen[number], sent, weight), to_bias, *found]
            if number:
                sent, to_bias = _to_maps(shape, sent, weight, shapes[number - 1], chosen[number - 1])
            elif ctx.needs_input_grad[1]:
                sent, _ = _to_maps(shape, sent, weight)
        return None, sent.permute(0, 3, 1, 2) if ctx.needs_input_grad[1] else None, *found


class _Room(NamedTuple):
    """Where a stage puts its maps.

    Attributes:
        whole: with what lies round them.
        within: ``(N, PH, PW, O)``, the maps alone.
        margin: of zeros.
    """

    whole: Tensor
    within: Tensor
    margin: int


def _padded(inputs: Tensor, first: _Shape) -> Tensor:
    """Inputs ``(N, C, H, W)`` as the first stage sees them: channels last, with its margin."""
    out = inputs.new_empty(len(inputs), *first.padded(first.channels))
    places = out.numel() // first.channels
    c_block = 1 << (first.channels - 1).bit_length()
    m_block = max(1, 1024 // c_block)
    _kernels().to_padded[(-(-places // m_block),)](
        inputs,
        out,
        places,
        *inputs.stride(),
        C=first.channels,
        H=first.height,
        W=first.width,
        MARGIN=first.margin,
        M_BLOCK=m_block,
        C_BLOCK=c_block,
    )
    return out


def _directly(shape: _Shape, maps: Tensor, weight: Tensor, bias: Tensor, room: _Room, chosen: Tensor) -> Tensor:
    """Fill ``room`` and ``chosen``; gives what the gradient of the weight needs."""
    rows, o_block = chosen.numel() // shape.outputs, _power(shape.outputs)
    m_block = 128 if o_block <= DIRECT else 64
    programs = -(-rows // m_block)
    _kernels().forward[(programs,)](
        maps,
        weight,
        bias,
        room.whole,
        room.within,
        chosen,
        rows,
        *room.within.stride(),
        **shape.sees(),
        POOL=shape.pool,
        PLACES_H=shape.places[0],
        PLACES_W=shape.places[1],
        OUT=shape.outputs,
        MARGIN=room.margin,
        M_BLOCK=m_block,
        K_BLOCK=K_BLOCK,
        O_BLOCK=o_block,
        num_warps=_warps(o_block),
    )
    return maps


def _by_matrix(shape: _Shape, maps: Tensor, weight: Tensor, bias: Tensor, room: _Room, chosen: Tensor) -> Tensor:
    rows = chosen.numel() // shape.outputs
    programs = -(-rows // 32)
    columns = maps.new_empty(rows, shape.taps)
    _kernels().to_columns[programs, -(-shape.taps // 128)](
        maps, columns, rows, **shape.sees(), H=shape.height, W=shape.width, M_BLOCK=32, K_BLOCK=128
    )
    _kernels().after_product[(programs,)](
        columns @ weight.flatten(1).T,
        bias,
        room.whole,
        room.within,
        chosen,
        rows,
        *room.within.stride(),
        H=shape.height,
        W=shape.width,
        OUT=shape.outputs,
        MARGIN=room.margin,
        M_BLOCK=32,
        O_BLOCK=_power(shape.outputs),
    )
    return columns


def _through_last(shape: _Shape, gradient: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of the last convolution and of its bias."""
    rows = chosen.numel() // shape.outputs
    programs = -(-rows // 32)
    margin, out = _room(shape, gradient)
    parts = gradient.new_empty(programs, shape.outputs)
    _kernels().through_last[(programs,)](
        gradient,
        chosen,
        out,
        parts,
        rows,
        POOL=shape.pool,
        PLACES=shape.places[0] * shape.places[1],
        PLACES_W=shape.places[1],
        FULL_H=shape.height,
        FULL_W=shape.width,
        OUT=shape.outputs,
        MARGIN=margin,
        M_BLOCK=32,
        O_BLOCK=_power(shape.outputs),
    )
    return out, parts.sum(0)


def _to_weight(shape: _Shape, seen: Tensor, sent: Tensor, weight: Tensor) -> Tensor:
    if shape.by_matrix:
        product = (sent.flatten(0, 2).T @ seen).view(weight.shape)
        return product.permute(0, 3, 1, 2).contiguous()
    tiles, o_block = -(-shape.taps // K_BLOCK), _power(shape.outputs)
    lines, w_block = shape.piece()
    pieces = len(seen) * (shape.height // lines) * -(-shape.width // w_block)
    share = -(-pieces // max(1, min(2 * MULTIPROCESSORS // tiles, -(-pieces // 4))))
    shares = -(-pieces // share)
    parts = seen.new_empty(shares, shape.taps * shape.outputs)
    _kernels().to_weight[tiles, shares](
        seen,
        sent,
        parts,
        pieces,
        SHARE=share,
        **shape.sees(),
        H=shape.height,
        W=shape.width,
        OUT=shape.outputs,
        MARGIN=shape.margin,
        LINES=lines,
        W_BLOCK=w_block,
        K_BLOCK=K_BLOCK,
        O_BLOCK=o_block,
        num_warps=_warps(o_block),
    )
    gradient = seen.new_empty(shape.outputs, shape.channels, shape.size, shape.size)
    _kernels().add_up[(-(-parts.shape[1] // 64),)](
        parts,
        gradient,
        PARTS=shares,
        C=shape.channels,
        AREA=shape.size**2,
        OUT=shape.outputs,
        P_BLOCK=32,
        J_BLOCK=64,
    )
    return gradient


def _to_maps(
    shape: _Shape, sent: Tensor, weight: Tensor, before: _Shape | None = None, chosen: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """To the maps that a stage saw or, through the pooling that made them, to the stage ``before`` and its bias."""
    n, outputs = len(sent), shape.outputs
    rows = n * shape.height * shape.width
    m_block = 64 if shape.by_matrix or rows > 64 * 4 * MULTIPROCESSORS else 32
    programs = -(-rows // m_block)
    parts = sent.new_empty(programs, shape.channels)
    if before is None:
        full, margin, out = shape, 0, sent.new_empty(n, shape.height, shape.width, shape.channels)
    else:
        full, (margin, out) = before, _room(before, sent)
    there = {
        "C": shape.channels,
        "SIZE": shape.size,
        "POOL": 0 if before is None else before.pool,
        "FULL_H": full.height,
        "FULL_W": full.width,
        "MARGIN": margin,
        "M_BLOCK": m_block,
        "C_BLOCK": _power(shape.channels),
    }
    passed = sent if chosen is None else chosen
    if shape.by_matrix:
        _kernels().from_columns[(programs,)](
            sent.flatten(0, 2) @ weight.flatten(1), passed, out, parts, rows, H=shape.height, W=shape.width, **there
        )
    else:
        _kernels().to_maps[(programs,)](
            sent,
            weight,
            passed,
            out,
            parts,
            rows,
            OUT=outputs,
            PADDED_H=sent.shape[1],
            PADDED_W=sent.shape[2],
            PLACES_H=shape.height,
            PLACES_W=shape.width,
            K_BLOCK=K_BLOCK,
            **there,
        )
    return out, parts if before is None else parts.sum(0)


def _room(shape: _Shape, like: Tensor) -> tuple[int, Tensor]:
    """The margin, and room, for the gradient of a stage's convolution: channels last, whose margin will be zeros."""
    if shape.by_matrix:
        return 0, like.new_empty(len(like), shape.height, shape.width, shape.outputs)
    return shape.margin, like.new_empty(len(like), *shape.padded(shape.outputs))


def _kernels() -> Any:
    from truelabel.networks import conv_stack_kernels

    return conv_stack_kernels


def _warps(o_block: int) -> int:
    return 8 if o_block > 64 else 4


def _power(count: int) -> int:
    """The next power of two, and 16 at least, which is what the tensor cores take."""
    return max(16, 1 << (count - 1).bit_length())
