"""Kernels of :mod:`truelabel.networks.conv_stack`: convolutions as products of matrices that are never formed.

A row of such a matrix is a place where the kernel lies, a column one of its C S S numbers, ordered ``(dy, dx, c)``.
Maps are channels last and padded with zeros, so that a number is at the address of its row plus that of its column,
and nothing has to be asked at the border. Products are TF32, those of the tensor cores. NaN stays NaN.

Triton is optional: only :mod:`truelabel.networks.conv_stack` imports this file, when it needs the kernels.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from typing import Any

import triton
import triton.language as tl

jit: Any = triton.jit


@jit
def _columns(k, SIZE: tl.constexpr, C: tl.constexpr, WIDTH: tl.constexpr, K_BLOCK: tl.constexpr):
    """Address of columns relative to a row; those behind the last one look at the first, and must count nothing."""
    k = tl.where(k < SIZE * SIZE * C, k, 0)
    column = k // (SIZE * C) * (WIDTH * C) + k % (SIZE * C)
    # The compiler cannot see that numbers lie side by side, which is what wide loads need.
    if C % 4 == 0:
        column = tl.max_contiguous(tl.multiple_of(column, 4), 4)
    elif C % 2 == 0:
        column = tl.max_contiguous(tl.multiple_of(column, 2), 2)
    return column


@jit
def _surround(
    out,
    images,
    C: tl.constexpr,
    MARGIN: tl.constexpr,
    IN_H: tl.constexpr,
    IN_W: tl.constexpr,
    ALL_H: tl.constexpr,
    ALL_W: tl.constexpr,
):
    """Zeros at this program's share of the places round ``IN_H x IN_W`` ones of ``out (images, ALL_H, ALL_W, C)``.

    The programs take turns, so that one kernel serves every number of images.
    """
    bands: tl.constexpr = (ALL_H - IN_H) * ALL_W
    beside: tl.constexpr = ALL_W - IN_W
    around: tl.constexpr = bands + IN_H * beside
    if around > 0:
        first = tl.program_id(0) * 512
        while first < images * (around * C):
            number = first + tl.arange(0, 512)
            cell = number // C
            # The lines above, those below, and what is left of the others.
            k = cell % around
            line = k // ALL_W
            side = k - bands
            place = side % max(beside, 1)
            h = tl.where(k < bands, tl.where(line < MARGIN, line, line + IN_H), MARGIN + side // max(beside, 1))
            w = tl.where(k < bands, k % ALL_W, tl.where(place < MARGIN, place, place + IN_W))
            address = ((cell // around * ALL_H + h) * ALL_W + w) * C + number % C
            tl.store(out + address, tl.zeros((512,), tl.float32), mask=cell < images * around)
            first += tl.num_programs(0) * 512


@jit(do_not_specialize=["places"])
def to_padded(
    inputs,
    out,
    places,
    in_n,
    in_c,
    in_h,
    in_w,
    C: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    MARGIN: tl.constexpr,
    M_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Maps ``(N, C, H, W)`` channels last, with a margin of zeros."""
    width: tl.constexpr = W + 2 * MARGIN
    height: tl.constexpr = H + 2 * MARGIN
    place = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    c = tl.arange(0, C_BLOCK)
    kept = (place < places)[:, None] & (c < C)[None, :]
    h = place // width % height - MARGIN
    w = place % width - MARGIN
    inside = (h >= 0) & (h < H) & (w >= 0) & (w < W)
    # Views may have strides that no number of 32 bits holds.
    address = (place // (height * width)).to(tl.int64) * in_n + h.to(tl.int64) * in_h + w.to(tl.int64) * in_w
    value = tl.load(inputs + address[:, None] + c.to(tl.int64)[None, :] * in_c, mask=kept & inside[:, None], other=0.0)
    tl.store(out + place[:, None] * C + c[None, :], value, mask=kept)


@jit(do_not_specialize=["rows"])
def forward(
    maps,
    weight,
    bias,
    whole,
    out,
    chosen,
    rows,
    out_n,
    out_h,
    out_w,
    out_c,
    C: tl.constexpr,
    PADDED_H: tl.constexpr,
    PADDED_W: tl.constexpr,
    SIZE: tl.constexpr,
    POOL: tl.constexpr,
    PLACES_H: tl.constexpr,
    PLACES_W: tl.constexpr,
    OUT: tl.constexpr,
    MARGIN: tl.constexpr,
    M_BLOCK: tl.constexpr,
    K_BLOCK: tl.constexpr,
    O_BLOCK: tl.constexpr,
):
    """Convolution, the largest of POOL x POOL places, bias, ReLU; ``chosen`` says which place it was, POOL² if none.

    ``out`` lies within ``whole``, which has the MARGIN that the next stage wants.
    """
    row = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    there = row < rows
    row = tl.where(there, row, 0)
    n = row // (PLACES_H * PLACES_W)
    h = row // PLACES_W % PLACES_H
    w = row % PLACES_W
    start = n * (PADDED_H * PADDED_W * C) + (h * POOL * PADDED_W + w * POOL) * C
    o = tl.arange(0, O_BLOCK)
    best = tl.full((M_BLOCK, O_BLOCK), float("-inf"), tl.float32)
    place = tl.zeros((M_BLOCK, O_BLOCK), tl.int32)
    for s in tl.static_range(POOL * POOL):
        sums = tl.zeros((M_BLOCK, O_BLOCK), tl.float32)
        for first in range(0, SIZE * SIZE * C, K_BLOCK):
            k = first + tl.arange(0, K_BLOCK)
            column = _columns(k, SIZE, C, PADDED_W, K_BLOCK)
            seen = tl.load(maps + (start + (s // POOL * PADDED_W + s % POOL) * C)[:, None] + column[None, :])
            kernel = tl.load(
                weight + o[None, :] * (SIZE * SIZE * C) + k[:, None],
                mask=(k < SIZE * SIZE * C)[:, None] & (o < OUT)[None, :],
                other=0.0,
            )
            sums = tl.dot(seen, kernel, sums)
        place = tl.where(sums > best, s, place)
        best = tl.maximum(sums, best, propagate_nan=tl.PropagateNan.ALL)
    best += tl.load(bias + o, mask=o < OUT, other=0.0)[None, :]
    kept = there[:, None] & (o < OUT)[None, :]
    address = n[:, None] * out_n + h[:, None] * out_h + w[:, None] * out_w + o[None, :] * out_c
    tl.store(out + address, tl.maximum(best, 0.0, propagate_nan=tl.PropagateNan.ALL), mask=kept)
    place = tl.where(best > 0, place, POOL * POOL)
    tl.store(chosen + row[:, None] * OUT + o[None, :], place.to(tl.uint8), mask=kept)
    height: tl.constexpr = PLACES_H + 2 * MARGIN
    width: tl.constexpr = PLACES_W + 2 * MARGIN
    images = rows // (PLACES_H * PLACES_W)
    _surround(whole, images, OUT, MARGIN, PLACES_H, PLACES_W, height, width)


@jit(do_not_specialize=["rows"])
def through_last(
    gradient,
    chosen,
    out,
    parts,
    rows,
    POOL: tl.constexpr,
    PLACES: tl.constexpr,
    PLACES_W: tl.constexpr,
    FULL_H: tl.constexpr,
    FULL_W: tl.constexpr,
    OUT: tl.constexpr,
    MARGIN: tl.constexpr,
    M_BLOCK: tl.constexpr,
    O_BLOCK: tl.constexpr,
):
    """Gradient ``(N, O, PH, PW)`` of what a stage gave to that of its convolution, padded and channels last."""
    row = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    o = tl.arange(0, O_BLOCK)
    there = (row < rows)[:, None] & (o < OUT)[None, :]
    n = row // PLACES
    value = tl.load(gradient + (n * PLACES * OUT + row % PLACES)[:, None] + o[None, :] * PLACES, mask=there, other=0.0)
    place = tl.load(chosen + row[:, None] * OUT + o[None, :], mask=there, other=POOL * POOL)
    _spread(
        value,
        place,
        out,
        parts,
        rows,
        row,
        o,
        there,
        POOL,
        PLACES,
        PLACES_W,
        FULL_H,
        FULL_W,
        OUT,
        MARGIN,
    )


@jit
def _spread(
    value,
    place,
    out,
    parts,
    rows,
    row,
    o,
    there,
    POOL: tl.constexpr,
    PLACES: tl.constexpr,
    PLACES_W: tl.constexpr,
    FULL_H: tl.constexpr,
    FULL_W: tl.constexpr,
    OUT: tl.constexpr,
    MARGIN: tl.constexpr,
):
    """To the place that was chosen, and zero to the others and to what lies round all of them; what reaches a bias.

    The latter is a sum over the rows of this program.
    """
    value = tl.where(place < POOL * POOL, value, 0.0)
    tl.store(parts + tl.program_id(0) * OUT + o, tl.sum(value, 0), mask=o < OUT)
    width: tl.constexpr = FULL_W + 2 * MARGIN
    height: tl.constexpr = FULL_H + 2 * MARGIN
    h = row % PLACES // PLACES_W * POOL + MARGIN
    w = row % PLACES_W * POOL + MARGIN
    start = (row // PLACES * (height * width) + h * width + w) * OUT
    for s in tl.static_range(POOL * POOL):
        address = (start + (s // POOL * width + s % POOL) * OUT)[:, None] + o[None, :]
        tl.store(out + address, tl.where(place == s, value, 0.0), mask=there)
    inner_h: tl.constexpr = PLACES // PLACES_W * POOL
    inner_w: tl.constexpr = PLACES_W * POOL
    _surround(out, rows // PLACES, OUT, MARGIN, inner_h, inner_w, height, width)


@jit(do_not_specialize=["rows"])
def to_maps(
    gradient,
    weight,
    chosen,
    out,
    parts,
    rows,
    OUT: tl.constexpr,
    PADDED_H: tl.constexpr,
    PADDED_W: tl.constexpr,
    SIZE: tl.constexpr,
    PLACES_H: tl.constexpr,
    PLACES_W: tl.constexpr,
    C: tl.constexpr,
    POOL: tl.constexpr,
    FULL_H: tl.constexpr,
    FULL_W: tl.constexpr,
    MARGIN: tl.constexpr,
    M_BLOCK: tl.constexpr,
    K_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Gradient of a convolution's maps, sent on through the pooling and ReLU that made them; POOL 0: there is none."""
    row = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    there = row < rows
    row = tl.where(there, row, 0)
    n = row // (PLACES_H * PLACES_W)
    start = (n * (PADDED_H * PADDED_W) + row // PLACES_W % PLACES_H * PADDED_W + row % PLACES_W) * OUT
    c = tl.arange(0, C_BLOCK)
    sums = tl.zeros((M_BLOCK, C_BLOCK), tl.float32)
    for first in range(0, SIZE * SIZE * OUT, K_BLOCK):
        k = first + tl.arange(0, K_BLOCK)
        seen = tl.load(gradient + start[:, None] + _columns(k, SIZE, OUT, PADDED_W, K_BLOCK)[None, :])
        # The kernel turned by half a circle.
        turned = (k % OUT * (SIZE * SIZE) + SIZE * SIZE - 1 - k // OUT) * C
        real = (k < SIZE * SIZE * OUT)[:, None] & (c < C)[None, :]
        kernel = tl.load(weight + turned[:, None] + c[None, :], mask=real, other=0.0)
        sums = tl.dot(seen, kernel, sums)
    kept = there[:, None] & (c < C)[None, :]
    if POOL == 0:
        tl.store(out + row[:, None] * C + c[None, :], sums, mask=kept)
    else:
        place = tl.load(chosen + row[:, None] * C + c[None, :], mask=kept, other=POOL * POOL)
        places: tl.constexpr = PLACES_H * PLACES_W
        _spread(
            sums,
            place,
            out,
            parts,
            rows,
            row,
            c,
            kept,
            POOL,
            places,
            PLACES_W,
            FULL_H,
            FULL_W,
            C,
            MARGIN,
        )


@jit(do_not_specialize=["pieces"])
def to_weight(
    maps,
    gradient,
    parts,
    pieces,
    SHARE: tl.constexpr,
    C: tl.constexpr,
    PADDED_H: tl.constexpr,
    PADDED_W: tl.constexpr,
    SIZE: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    OUT: tl.constexpr,
    MARGIN: tl.constexpr,
    LINES: tl.constexpr,
    W_BLOCK: tl.constexpr,
    K_BLOCK: tl.constexpr,
    O_BLOCK: tl.constexpr,
):
    """Gradient of a weight over a share of the pieces: LINES x W_BLOCK places of an image, LINES a divisor of H.

    Within a piece all addresses are the same but for where it begins: they are worked out once, not for every place.
    """
    k = tl.program_id(0) * K_BLOCK + tl.arange(0, K_BLOCK)
    o = tl.arange(0, O_BLOCK)
    m = tl.arange(0, LINES * W_BLOCK)
    line = m // W_BLOCK
    taps: tl.constexpr = SIZE * SIZE * C
    across: tl.constexpr = (W + W_BLOCK - 1) // W_BLOCK
    down: tl.constexpr = H // LINES
    sent_w: tl.constexpr = W + 2 * MARGIN
    sent_image: tl.constexpr = (H + 2 * MARGIN) * sent_w
    column = _columns(k, SIZE, C, PADDED_W, K_BLOCK)
    seen_at = (line * PADDED_W + m % W_BLOCK)[None, :] * C + column[:, None]
    sent_at = ((line + MARGIN) * sent_w + MARGIN + m % W_BLOCK)[:, None] * OUT + o[None, :]
    sums = tl.zeros((K_BLOCK, O_BLOCK), tl.float32)
    begin = tl.program_id(1) * SHARE
    for number in range(SHARE):
        piece = begin + number
        w = piece % across * W_BLOCK
        h = piece // across % down * LINES
        image = piece // (across * down)
        there = (w + m % W_BLOCK < W) & (piece < pieces)
        start = (image * PADDED_H + h) * (PADDED_W * C) + w * C
        seen = tl.load(maps + (start + seen_at), mask=there[None, :], other=0.0)
        start = image * (sent_image * OUT) + (h * sent_w + w) * OUT
        value = tl.load(gradient + (start + sent_at), mask=there[:, None] & (o < OUT)[None, :], other=0.0)
        sums = tl.dot(seen, value, sums)
    address = parts + tl.program_id(1) * (taps * OUT) + k[:, None] * OUT + o[None, :]
    tl.store(address, sums, mask=(k < taps)[:, None] & (o < OUT)[None, :])


@jit
def add_up(
    parts,
    to_weight,
    PARTS: tl.constexpr,
    C: tl.constexpr,
    AREA: tl.constexpr,
    OUT: tl.constexpr,
    P_BLOCK: tl.constexpr,
    J_BLOCK: tl.constexpr,
):
    """The shares, always in the same order, as torch holds a weight: ``(O, C, S, S)``."""
    j = tl.program_id(0) * J_BLOCK + tl.arange(0, J_BLOCK)
    size: tl.constexpr = AREA * C * OUT
    total = tl.zeros((J_BLOCK,), tl.float32)
    for first in range(0, PARTS, P_BLOCK):
        p = first + tl.arange(0, P_BLOCK)
        there = (p < PARTS)[:, None] & (j < size)[None, :]
        total += tl.sum(tl.load(parts + p[:, None] * size + j[None, :], mask=there, other=0.0), 0)
    k = j // OUT
    tl.store(to_weight + (j % OUT * C + k % C) * AREA + k // C, total, mask=j < size)


@jit(do_not_specialize=["rows"])
def to_columns(
    maps,
    columns,
    rows,
    C: tl.constexpr,
    PADDED_H: tl.constexpr,
    PADDED_W: tl.constexpr,
    SIZE: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    M_BLOCK: tl.constexpr,
    K_BLOCK: tl.constexpr,
):
    """The matrix itself, ``(rows, S S C)``, where a library's product is worth more than the memory."""
    row = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    k = tl.program_id(1) * K_BLOCK + tl.arange(0, K_BLOCK)
    taps: tl.constexpr = SIZE * SIZE * C
    there = (row < rows)[:, None] & (k < taps)[None, :]
    start = ((row // (H * W) * PADDED_H + row // W % H) * PADDED_W + row % W) * C
    seen = tl.load(maps + start[:, None] + _columns(k, SIZE, C, PADDED_W, K_BLOCK)[None, :], mask=there)
    tl.store(columns + row[:, None] * taps + k[None, :], seen, mask=there)


@jit(do_not_specialize=["rows"])
def after_product(
    product,
    bias,
    whole,
    out,
    chosen,
    rows,
    out_n,
    out_h,
    out_w,
    out_c,
    H: tl.constexpr,
    W: tl.constexpr,
    OUT: tl.constexpr,
    MARGIN: tl.constexpr,
    M_BLOCK: tl.constexpr,
    O_BLOCK: tl.constexpr,
):
    """Bias and ReLU of a product ``(rows, O)``, each number to its place among the maps."""
    row = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    o = tl.arange(0, O_BLOCK)
    there = (row < rows)[:, None] & (o < OUT)[None, :]
    address = row[:, None] * OUT + o[None, :]
    value = tl.load(product + address, mask=there, other=0.0) + tl.load(bias + o, mask=o < OUT, other=0.0)[None, :]
    place = row // (H * W) * out_n + row // W % H * out_h + row % W * out_w
    positive = tl.maximum(value, 0.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + place[:, None] + o[None, :] * out_c, positive, mask=there)
    tl.store(chosen + address, tl.where(value > 0, 0, 1).to(tl.uint8), mask=there)
    _surround(whole, rows // (H * W), OUT, MARGIN, H, W, H + 2 * MARGIN, W + 2 * MARGIN)


@jit(do_not_specialize=["rows"])
def from_columns(
    columns,
    chosen,
    out,
    parts,
    rows,
    SIZE: tl.constexpr,
    H: tl.constexpr,
    W: tl.constexpr,
    C: tl.constexpr,
    POOL: tl.constexpr,
    FULL_H: tl.constexpr,
    FULL_W: tl.constexpr,
    MARGIN: tl.constexpr,
    M_BLOCK: tl.constexpr,
    C_BLOCK: tl.constexpr,
):
    """Gradient of a matrix to that of the maps it was made of, sent on as by :func:`to_maps`."""
    row = tl.program_id(0) * M_BLOCK + tl.arange(0, M_BLOCK)
    h, w = row // W % H, row % W
    c = tl.arange(0, C_BLOCK)
    kept = (row < rows)[:, None] & (c < C)[None, :]
    sums = tl.zeros((M_BLOCK, C_BLOCK), tl.float32)
    for tap in tl.static_range(SIZE * SIZE):
        down = SIZE // 2 - tap // SIZE
        right = SIZE // 2 - tap % SIZE
        there = (h + down >= 0) & (h + down < H) & (w + right >= 0) & (w + right < W)
        address = (row + (down * W + right)) * (SIZE * SIZE * C) + tap * C
        sums += tl.load(columns + address[:, None] + c[None, :], mask=kept & there[:, None], other=0.0)
    if POOL == 0:
        tl.store(out + row[:, None] * C + c[None, :], sums, mask=kept)
    else:
        place = tl.load(chosen + row[:, None] * C + c[None, :], mask=kept, other=POOL * POOL)
        _spread(
            sums,
            place,
            out,
            parts,
            rows,
            row,
            c,
            kept,
            POOL,
            H * W,
            W,
            FULL_H,
            FULL_W,
            C,
            MARGIN,
        )
