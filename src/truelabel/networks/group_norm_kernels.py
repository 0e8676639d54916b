"""Kernels of :mod:`truelabel.networks.group_norm`: group norm and leaky ReLU of maps whose channels lie side by side.

The maps of an image are a matrix with a row for every place and a column for every channel. A program has an image: it
reads it once for its sums, and once more to use them, by when the image lies in the cache.

Triton is optional: only :mod:`truelabel.networks.group_norm` imports this file, when it needs the kernels.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

jit: Any = triton.jit


@jit
def _in_groups(value, c, C: tl.constexpr, GROUPS: tl.constexpr):
    """For every channel the sum over the channels of its group."""
    size: tl.constexpr = C // GROUPS
    sums = tl.zeros_like(value)
    for group in tl.static_range(GROUPS):
        inside = (c // size == group) & (c < C)
        sums = tl.where(inside, tl.sum(tl.where(inside, value, 0.0), 0), sums)
    return sums


@jit
def forward(
    maps,
    shift,
    weight,
    bias,
    out,
    found,
    eps,
    slope,
    AREA: tl.constexpr,
    C: tl.constexpr,
    GROUPS: tl.constexpr,
    R_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Group norm and leaky ReLU of maps plus ``shift (C)``, which may be None.

    To ``found (N, 2, C)`` go, for every image and channel, the mean less the shift, and 1 / deviation.
    """
    n = tl.program_id(0)
    c = tl.arange(0, C_BLOCK)
    known = c < C
    start = maps + n * (AREA * C)
    # Squares of what is far from zero would lose the digits in which the numbers differ.
    about = tl.load(start + c, mask=known, other=0.0).to(tl.float32)
    total = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    squares = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    for first in range(0, AREA, R_BLOCK):
        row = first + tl.arange(0, R_BLOCK)
        there = (row < AREA)[:, None] & known[None, :]
        value = tl.load(start + row[:, None] * C + c[None, :], mask=there, other=0.0).to(tl.float32)
        value = tl.where(there, value - about[None, :], 0.0)
        total += value
        squares += value * value
    offset = tl.sum(total, 0) / AREA
    spread = tl.sum(squares, 0) / AREA - offset * offset
    moved = tl.zeros_like(about) if shift is None else tl.load(shift + c, mask=known, other=0.0)
    offset += about + moved
    mean = _in_groups(offset, c, C, GROUPS) / (C // GROUPS)
    var = _in_groups(spread + (offset - mean) * (offset - mean), c, C, GROUPS) / (C // GROUPS)
    factor = 1.0 / tl.sqrt(tl.where(var < 0.0, 0.0, var) + eps)
    mean -= moved
    tl.store(found + n * (2 * C) + c, mean, mask=known)
    tl.store(found + n * (2 * C) + C + c, factor, mask=known)
    scale = tl.load(weight + c, mask=known, other=0.0) * factor
    level = tl.load(bias + c, mask=known, other=0.0)
    for first in range(0, AREA, R_BLOCK):
        row = first + tl.arange(0, R_BLOCK)
        there = (row < AREA)[:, None] & known[None, :]
        address = row[:, None] * C + c[None, :]
        value = tl.load(start + address, mask=there, other=0.0).to(tl.float32)
        value = (value - mean[None, :]) * scale[None, :] + level[None, :]
        value = tl.where(value < 0.0, slope * value, value)
        tl.store(out + n * (AREA * C) + address, value.to(out.dtype.element_ty), mask=there)


@jit
def backward(
    gradient,
    maps,
    weight,
    bias,
    found,
    of_maps,
    parts,
    slope,
    AREA: tl.constexpr,
    C: tl.constexpr,
    GROUPS: tl.constexpr,
    R_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Gradient of the maps and, as far as this image goes, of weight, bias and shift to ``parts (N, 3, C)``."""
    n = tl.program_id(0)
    c = tl.arange(0, C_BLOCK)
    known = c < C
    start = n * (AREA * C)
    mean = tl.load(found + n * (2 * C) + c, mask=known, other=0.0)
    factor = tl.load(found + n * (2 * C) + C + c, mask=known, other=0.0)
    scale = tl.load(weight + c, mask=known, other=0.0)
    shift = tl.load(bias + c, mask=known, other=0.0)
    of_weight = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    of_bias = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    for first in range(0, AREA, R_BLOCK):
        row = first + tl.arange(0, R_BLOCK)
        there = (row < AREA)[:, None] & known[None, :]
        address = start + row[:, None] * C + c[None, :]
        value, passed = _passed(gradient, maps, address, there, mean, factor, scale, shift, slope)
        of_bias += passed
        of_weight += tl.where(there, value, 0.0) * passed
    to_weight = tl.sum(of_weight, 0)
    to_bias = tl.sum(of_bias, 0)
    tl.store(parts + n * (3 * C) + c, to_weight, mask=known)
    tl.store(parts + n * (3 * C) + C + c, to_bias, mask=known)
    along = _in_groups(to_weight * scale, c, C, GROUPS) / (AREA * (C // GROUPS))
    level = _in_groups(to_bias * scale, c, C, GROUPS) / (AREA * (C // GROUPS))
    of_shift = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    for first in range(0, AREA, R_BLOCK):
        row = first + tl.arange(0, R_BLOCK)
        there = (row < AREA)[:, None] & known[None, :]
        address = start + row[:, None] * C + c[None, :]
        value, passed = _passed(gradient, maps, address, there, mean, factor, scale, shift, slope)
        sent = factor[None, :] * (passed * scale[None, :] - level[None, :] - value * along[None, :])
        of_shift += tl.where(there, sent, 0.0)
        tl.store(of_maps + address, sent.to(of_maps.dtype.element_ty), mask=there)
    tl.store(parts + n * (3 * C) + 2 * C + c, tl.sum(of_shift, 0), mask=known)


@jit
def _passed(gradient, maps, address, there, mean, factor, scale, shift, slope):
    """Of a block: the normalised maps, and the gradient behind the leaky ReLU."""
    value = (tl.load(maps + address, mask=there, other=0.0).to(tl.float32) - mean[None, :]) * factor[None, :]
    passed = tl.load(gradient + address, mask=there, other=0.0).to(tl.float32)
    below = value * scale[None, :] + shift[None, :] <= 0.0
    return value, tl.where(below, slope * passed, passed)
