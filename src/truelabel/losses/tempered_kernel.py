"""All Newton steps of :mod:`truelabel.losses.tempered` in one kernel for a GPU, where each would be twenty small ones.

Triton is optional: only :mod:`truelabel.losses.tempered` imports this file, when it needs the kernel.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

jit: Any = triton.jit

ROWS = 32


def heavy_shift(gaps: Tensor, t: float, steps: int) -> Tensor:
    """The shift of :func:`truelabel.losses.tempered._heavy_shift`, for float32 and t > 1.

    Args:
        gaps: ``(..., K)``, how far activations lie below the largest.
        t: temperature.
        steps: of Newton's method.

    Returns:
        ``(..., 1)``.
    """
    classes = gaps.shape[-1]
    flat = gaps.reshape(-1, classes).contiguous()
    shift = torch.empty_like(gaps[..., :1], memory_format=torch.contiguous_format)
    rows = len(flat)
    with torch.cuda.device_of(flat):
        _heavy_shift[(triton.cdiv(rows, ROWS),)](
            flat, shift, rows, t - 1, STEPS=steps, CLASSES=classes, ROWS=ROWS, COLUMNS=triton.next_power_of_2(classes)
        )
    return shift


@jit(do_not_specialize=["rows", "excess"])
def _heavy_shift(
    gaps,
    shift,
    rows,
    excess,
    STEPS: tl.constexpr,
    CLASSES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, COLUMNS)
    real = (k < CLASSES)[None, :]
    address = row[:, None] * CLASSES + k[None, :]
    scaled = excess * tl.load(gaps + address, mask=(row < rows)[:, None] & real, other=0.0)
    low = tl.zeros((ROWS,), tl.float32)
    high = low + excess * tl.log(low + CLASSES)
    point = low
    for _ in range(STEPS):
        grown = tl.exp(point)[:, None]
        logs = tl.where(real, -tl.log(grown + scaled) / excess, float("-inf"))
        top = tl.max(logs, 1)
        mass = tl.exp(logs - top[:, None])
        whole = tl.sum(mass, 1)
        total = top + tl.log(whole)
        slope = -tl.sum(mass * grown / (grown + scaled), 1) / whole / excess
        low = tl.where(total > 0, point, low)
        high = tl.where(total > 0, high, point)
        step = point - total / slope
        point = tl.where((step >= low) & (step <= high), step, (low + high) / 2)
    tl.store(shift + row, (tl.exp(point) - 1) / excess, mask=row < rows)
