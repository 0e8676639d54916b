"""Kernels of :mod:`truelabel.networks.norm_relu`: batch norm and ReLU of maps whose channels lie side by side.

Maps are a matrix with a row for every place of every image and a column for every channel. Sums over rows are those of
programs, added up in a fixed order by whichever program ends last: equal inputs give equal bits.

Triton is optional: only :mod:`truelabel.networks.norm_relu` imports this file, when it needs the kernels.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

jit: Any = triton.jit


@jit
def _is_last(parts, ended, c, one, other, C: tl.constexpr, PROGRAMS: tl.constexpr):
    """Write down two sums over the rows of this program; whether those of all programs are there then."""
    address = parts + tl.program_id(0) * (2 * C) + c
    tl.store(address, one, mask=c < C)
    tl.store(address + C, other, mask=c < C)
    tl.debug_barrier()
    return tl.atomic_add(ended + tl.program_id(1), 1) == PROGRAMS - 1


@jit
def _add_up(parts, ended, c, C: tl.constexpr, PROGRAMS: tl.constexpr, P_BLOCK: tl.constexpr, C_BLOCK: tl.constexpr):
    """The two sums over all rows; the next launch finds the count of programs at zero again."""
    one = tl.zeros((P_BLOCK, C_BLOCK), tl.float32)
    other = tl.zeros((P_BLOCK, C_BLOCK), tl.float32)
    for first in range(0, PROGRAMS, P_BLOCK):
        p = first + tl.arange(0, P_BLOCK)
        there = (p < PROGRAMS)[:, None] & (c < C)[None, :]
        address = parts + p[:, None] * (2 * C) + c[None, :]
        one += tl.load(address, mask=there, other=0.0, volatile=True)
        other += tl.load(address + C, mask=there, other=0.0, volatile=True)
    tl.store(ended + tl.program_id(1), 0)
    return tl.sum(one, 0), tl.sum(other, 0)


@jit(do_not_specialize=["rows"])
def moments(
    maps,
    found,
    running_mean,
    running_var,
    parts,
    ended,
    rows,
    momentum,
    eps,
    C: tl.constexpr,
    ROUNDS: tl.constexpr,
    PROGRAMS: tl.constexpr,
    R_BLOCK: tl.constexpr,
    P_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Mean and 1 / deviation of every channel to ``found (2, C)``, and to the running ones."""
    c = tl.program_id(1) * C_BLOCK + tl.arange(0, C_BLOCK)
    # Squares of what is far from zero would lose the digits in which the numbers differ.
    about = tl.load(maps + c, mask=c < C, other=0.0).to(tl.float32)
    total = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    squares = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    begin = tl.program_id(0) * (ROUNDS * R_BLOCK)
    for number in range(ROUNDS):
        row = begin + number * R_BLOCK + tl.arange(0, R_BLOCK)
        there = (row < rows)[:, None] & (c < C)[None, :]
        value = tl.load(maps + row[:, None] * C + c[None, :], mask=there, other=0.0).to(tl.float32)
        value = tl.where(there, value - about[None, :], 0.0)
        total += value
        squares += value * value
    if _is_last(parts, ended, c, tl.sum(total, 0), tl.sum(squares, 0), C, PROGRAMS):
        added, squared = _add_up(parts, ended, c, C, PROGRAMS, P_BLOCK, C_BLOCK)
        offset = added / rows
        var = squared / rows - offset * offset
        var = tl.where(var < 0.0, 0.0, var)
        mean = about + offset
        tl.store(found + c, mean, mask=c < C)
        tl.store(found + C + c, 1.0 / tl.sqrt(var + eps), mask=c < C)
        before = tl.load(running_mean + c, mask=c < C, other=0.0)
        tl.store(running_mean + c, before + momentum * (mean - before), mask=c < C)
        before = tl.load(running_var + c, mask=c < C, other=0.0)
        unbiased = var * (rows / (rows - 1.0))
        tl.store(running_var + c, before + momentum * (unbiased - before), mask=c < C)


@jit
def _normalised(maps, found, weight, bias, address, c, there, C: tl.constexpr):
    """Of a block of maps: the normalised maps, the factor on them, and what comes of both and the bias."""
    known = c < C
    mean = tl.load(found + c, mask=known, other=0.0)[None, :]
    factor = tl.load(found + C + c, mask=known, other=0.0)[None, :]
    scale = tl.load(weight + c, mask=known, other=0.0)[None, :]
    value = (tl.load(maps + address, mask=there, other=0.0).to(tl.float32) - mean) * factor
    return value, scale * factor, value * scale + tl.load(bias + c, mask=known, other=0.0)[None, :]


@jit(do_not_specialize=["rows"])
def forward(
    maps,
    found,
    weight,
    bias,
    added,
    out,
    rows,
    C: tl.constexpr,
    ADDED: tl.constexpr,
    R_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Batch norm, with ``added`` to it if there is something to add, and ReLU."""
    row = tl.program_id(0) * R_BLOCK + tl.arange(0, R_BLOCK)
    c = tl.program_id(1) * C_BLOCK + tl.arange(0, C_BLOCK)
    there = (row < rows)[:, None] & (c < C)[None, :]
    address = row[:, None] * C + c[None, :]
    _, _, value = _normalised(maps, found, weight, bias, address, c, there, C)
    if ADDED:
        value += tl.load(added + address, mask=there, other=0.0).to(tl.float32)
    value = tl.maximum(value, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + address, value.to(out.dtype.element_ty), mask=there)


@jit(do_not_specialize=["rows"])
def to_weights(
    gradient,
    maps,
    out,
    found,
    weight,
    bias,
    sent,
    of_weights,
    parts,
    ended,
    rows,
    C: tl.constexpr,
    ADDED: tl.constexpr,
    ROUNDS: tl.constexpr,
    PROGRAMS: tl.constexpr,
    R_BLOCK: tl.constexpr,
    P_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Gradients of weight and bias to ``of_weights (2, C)``; that of what was added, if it was, to ``sent``."""
    c = tl.program_id(1) * C_BLOCK + tl.arange(0, C_BLOCK)
    of_weight = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    of_bias = tl.zeros((R_BLOCK, C_BLOCK), tl.float32)
    begin = tl.program_id(0) * (ROUNDS * R_BLOCK)
    for number in range(ROUNDS):
        row = begin + number * R_BLOCK + tl.arange(0, R_BLOCK)
        there = (row < rows)[:, None] & (c < C)[None, :]
        address = row[:, None] * C + c[None, :]
        value, _, before = _normalised(maps, found, weight, bias, address, c, there, C)
        passed = tl.load(gradient + address, mask=there, other=0.0).to(tl.float32)
        if ADDED:
            before = tl.load(out + address, mask=there, other=0.0).to(tl.float32)
        passed = tl.where(there & (before > 0.0), passed, 0.0)
        if ADDED:
            tl.store(sent + address, passed.to(sent.dtype.element_ty), mask=there)
        of_bias += passed
        of_weight += passed * tl.where(there, value, 0.0)
    if _is_last(parts, ended, c, tl.sum(of_weight, 0), tl.sum(of_bias, 0), C, PROGRAMS):
        of_all, of_shift = _add_up(parts, ended, c, C, PROGRAMS, P_BLOCK, C_BLOCK)
        tl.store(of_weights + c, of_all, mask=c < C)
        tl.store(of_weights + C + c, of_shift, mask=c < C)


@jit(do_not_specialize=["rows"])
def to_maps(
    gradient,
    maps,
    found,
    weight,
    bias,
    of_weights,
    out,
    rows,
    C: tl.constexpr,
    ADDED: tl.constexpr,
    R_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Gradient of the maps; ``gradient`` has gone back through ReLU already if something was added."""
    row = tl.program_id(0) * R_BLOCK + tl.arange(0, R_BLOCK)
    c = tl.program_id(1) * C_BLOCK + tl.arange(0, C_BLOCK)
    there = (row < rows)[:, None] & (c < C)[None, :]
    address = row[:, None] * C + c[None, :]
    value, factor, before = _normalised(maps, found, weight, bias, address, c, there, C)
    passed = tl.load(gradient + address, mask=there, other=0.0).to(tl.float32)
    if not ADDED:
        passed = tl.where(before > 0.0, passed, 0.0)
    of_weight = tl.load(of_weights + c, mask=c < C, other=0.0)[None, :]
    of_bias = tl.load(of_weights + C + c, mask=c < C, other=0.0)[None, :]
    sent = factor * (passed - (of_bias + value * of_weight) / rows)
    tl.store(out + address, sent.to(out.dtype.element_ty), mask=there)
