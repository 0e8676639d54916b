"""The smallest kernel there is, to see whether kernels can be built and run on a device.

Triton is optional: only :mod:`truelabel.kernels` imports this file.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

jit: Any = triton.jit


@jit
def _double(values, doubled, count, BLOCK: tl.constexpr):
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(doubled + place, 2 * tl.load(values + place, mask=place < count), mask=place < count)


def doubled(values: Tensor) -> Tensor:
    """Twice ``values (n,)``."""
    out = torch.empty_like(values)
    _double[(triton.cdiv(len(values), 128),)](values, out, len(values), BLOCK=128)
    return out
