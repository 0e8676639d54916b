r"""One pass of :func:`truelabel.noise.sampled_softmax.log_mean_softmax_at` as a single kernel for a GPU.

A program has a unit and a slot, and each of its lanes some of the samples, with all their classes. A lane keeps sums of
its own in registers, relative to the largest :math:`\log s_y` that it has met; lanes meet once, at the end. A draw
depends on the seed, the unit, the sample and the column alone: slots of a unit share theirs, and none reaches memory.

Triton is optional: only :mod:`truelabel.noise.sampled_softmax` imports this file, when it needs the kernel.
"""

# A kernel builds its tuples in unrolled loops, by addition only: their types change, and they cannot be unpacked.
# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment, misc"
# ruff: noqa: RUF005
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

jit: Any = triton.jit

LANES = 128
WARPS = LANES // 32

NUMBERS_IN_REGISTERS = 120
"""Sums and draws that a lane may hold: with many more the compiler for Hopper puts some of them into memory."""

ROUNDS = tl.constexpr(7)
"""Of Philox: the fewest that pass BigCrush (Table 2 of Salmon 2011)."""

LOWEST = tl.constexpr(-3e38)
"""Where the peak of a lane starts: finite, so that a lane without samples has sums of zero instead of nan."""


def label_sums(loading: Tensor, scale: Tensor, labels: Tensor, samples: int) -> tuple[Tensor, Tensor, Tensor]:
    r"""Log mean softmax at labels with fresh draws, :math:`\log \frac{1}{M} \sum_s s_{s,y}`, and its gradients.

    Args:
        loading: ``(U, K, J)``, float32: the mean and V side by side, J = 1 + Q.
        scale: ``(U, K)``, float32: d.
        labels: ``(U, S)`` in 0..K-1.
        samples: M.

    Returns:
        Values ``(U, S)``, and the gradient of each by the loading ``(U, S, J, K)`` and by the scale ``(U, S, K)``.
    """
    return sums_from_seed(loading, scale, labels, samples, draw_seed(loading.device))


def draw_seed(device: torch.device) -> Tensor:
    """``(1,)``, int64, from torch's default generator and on the device: a CUDA graph has a new one in every replay."""
    return torch.empty(1, dtype=torch.int64, device=device).random_()


def sums_from_seed(
    loading: Tensor, scale: Tensor, labels: Tensor, samples: int, seed: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """What :func:`label_sums` gives, where ``seed (1,)`` decides the draws."""
    units, classes, columns = loading.shape
    slots = labels.shape[1]
    values = loading.new_empty(units, slots)
    gradients = loading.new_empty(units, slots, columns + 1, classes)
    tensors = (loading.contiguous(), scale.contiguous(), labels.contiguous(), seed, values, gradients)
    sizes = samples, classes, columns - 1
    rows, parts = triton.next_power_of_2((columns + 1) * classes), parts_of(*sizes)
    with torch.cuda.device_of(loading):
        label_sums_kernel[units, slots](*tensors, *sizes, rows, parts, LANES, num_warps=WARPS)
    return values, gradients[:, :, :-1], gradients[:, :, -1]


def parts_of(samples: int, classes: int, factors: int) -> int:
    """How many samples a lane draws at once: up to four, the numbers that a call of Philox gives for a column."""
    numbers = classes * (factors + 2) + 4 * (classes + factors)
    most = 4 if numbers <= NUMBERS_IN_REGISTERS else 1
    return min(most, int(triton.next_power_of_2(triton.cdiv(samples, LANES))))


@jit
def label_sums_kernel(
    loading_at,
    scale_at,
    labels_at,
    seed_at,
    values_at,
    gradients_at,
    SAMPLES: tl.constexpr,
    CLASSES: tl.constexpr,
    FACTORS: tl.constexpr,
    ROWS: tl.constexpr,
    PARTS: tl.constexpr,
    LANES: tl.constexpr,
):
    """``loading (U, K, J)``, ``scale (U, K)``, ``labels (U, S)`` to ``values (U, S)``, ``gradients (U, S, J + 1, K)``.

    Gradients by the loading come before that by the scale. ``ROWS`` is a power of two, at least (J + 1) K.
    """
    unit = tl.program_id(0)
    place = unit.to(tl.int64) * tl.num_programs(1) + tl.program_id(1)
    COLUMNS: tl.constexpr = 1 + FACTORS
    loading_at += unit.to(tl.int64) * CLASSES * COLUMNS
    scale_at += unit.to(tl.int64) * CLASSES
    label = tl.load(labels_at + place)
    seed = tl.load(seed_at)
    lane = tl.arange(0, LANES)
    zero = tl.zeros([LANES], tl.float32)

    loading, scale = (), ()
    mass, to_loading, to_scale = (), (), ()
    for k in tl.static_range(CLASSES):
        scale = scale + (tl.load(scale_at + k),)
        to_scale = to_scale + (zero,)
        for j in tl.static_range(COLUMNS):
            loading = loading + (tl.load(loading_at + k * COLUMNS + j),)
            to_loading = to_loading + (zero,)
    for _ in tl.static_range(COLUMNS):
        mass = mass + (zero,)
    own_mass = zero
    peak = zero + LOWEST

    for first in range(0, SAMPLES, PARTS * LANES):
        drawn = normals(seed, unit, first // PARTS + lane, (FACTORS + CLASSES) * PARTS)
        for part in tl.static_range(PARTS):
            logits = ()
            top = zero - float("inf")
            at_label = zero
            own_at_label = zero
            for k in tl.static_range(CLASSES):
                own = drawn[(FACTORS + k) * PARTS + part]
                logit = loading[k * COLUMNS] + scale[k] * own
                for q in tl.static_range(FACTORS):
                    logit += loading[k * COLUMNS + 1 + q] * drawn[q * PARTS + part]
                logits = logits + (logit,)
                top = tl.maximum(top, logit)
                at_label = tl.where(k == label, logit, at_label)
                own_at_label = tl.where(k == label, own, own_at_label)
            odds = ()
            total = zero
            for k in tl.static_range(CLASSES):
                odd = tl.exp(logits[k] - top)
                odds = odds + (odd,)
                total += odd
            log_prob = at_label - top - tl.log(total)
            log_prob = tl.where(first + part * LANES + lane < SAMPLES, log_prob, -float("inf"))

            higher = tl.maximum(peak, log_prob)
            fade = tl.exp(peak - higher)
            peak = higher
            weight = tl.exp(log_prob - peak)
            share = weight / total
            own_mass = own_mass * fade + weight * own_at_label
            new_mass = (mass[0] * fade + weight,)
            spread = (share,)
            for q in tl.static_range(FACTORS):
                common = drawn[q * PARTS + part]
                new_mass = new_mass + (mass[1 + q] * fade + weight * common,)
                spread = spread + (share * common,)
            new_loading, new_scale = (), ()
            for k in tl.static_range(CLASSES):
                own = drawn[(FACTORS + k) * PARTS + part]
                new_scale = new_scale + (to_scale[k] * fade + share * odds[k] * own,)
                for j in tl.static_range(COLUMNS):
                    new_loading = new_loading + (to_loading[k * COLUMNS + j] * fade + spread[j] * odds[k],)
            mass, to_loading, to_scale = new_mass, new_loading, new_scale

    top = tl.max(peak)
    fade = tl.exp(peak - top)
    total = tl.sum(fade * mass[0])
    tl.store(values_at + place, top + tl.log(total / SAMPLES))

    # In a reduction warps wait for each other, hence one for all sums. Each thread has every row of its lane, so the
    # compiler knows the rows, and the choices between them cost nothing.
    fade = fade / total
    row = tl.arange(0, ROWS)[:, None]
    stacked = tl.zeros([ROWS, LANES], tl.float32)
    for k in tl.static_range(CLASSES):
        for j in tl.static_range(COLUMNS):
            gradient = fade * (tl.where(k == label, mass[j], 0.0) - to_loading[k * COLUMNS + j])
            stacked = tl.where(row == j * CLASSES + k, gradient[None, :], stacked)
        gradient = fade * (tl.where(k == label, own_mass, 0.0) - to_scale[k])
        stacked = tl.where(row == COLUMNS * CLASSES + k, gradient[None, :], stacked)
    COUNT: tl.constexpr = (COLUMNS + 1) * CLASSES
    index = tl.arange(0, ROWS)
    tl.store(gradients_at + place * COUNT + index, tl.sum(stacked, 1), mask=index < COUNT)


@jit
def normals(seed, unit, group, NUMBERS: tl.constexpr):
    """A tuple of at least ``NUMBERS`` tensors of standard normal numbers, shaped like ``group``."""
    drawn = ()
    for call in tl.static_range((NUMBERS + 3) // 4):
        a, b, c, d = tl.philox(seed, group, call, unit, 0, ROUNDS)
        drawn = drawn + box_muller(a, b) + box_muller(c, d)
    return drawn


@jit
def box_muller(a, b):
    """Two standard normal numbers from two of 32 random bits.

    The sine and cosine of the compiler take memory for large angles. Here the angle is within a quarter turn of zero,
    where polynomials (minimax fits) are off by less than 1e-6, and a bit of its own gives the cosine its sign.
    """
    uniform = ((a & 0x7FFFFFFF).to(tl.int32, bitcast=True).to(tl.float32) + 0.5) * 4.6566129e-10
    radius = tl.sqrt(tl.maximum(-1.3862944 * tl.log2(uniform), 0.0))
    turn = ((b >> 9) | 0x3F800000).to(tl.float32, bitcast=True) * 0.5 - 0.75
    square = turn * turn
    sine = turn * (6.283164 + square * (-41.337142 + square * (81.340768 + square * -70.993427)))
    cosine = 1.0 + square * (-19.739172 + square * (64.934591 + square * (-85.240337 + square * 56.242426)))
    signed = (radius * cosine).to(tl.uint32, bitcast=True) ^ (a & 0x80000000)
    return radius * sine, signed.to(tl.float32, bitcast=True)
