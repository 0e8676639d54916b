"""Numbers that need the digits of single precision, where mixed precision has left fewer."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor


def at_least_single(values: Tensor) -> Tensor:
    """Values in single precision, or as they are if they have more.

    Example:
        >>> at_least_single(torch.zeros(2, dtype=torch.bfloat16)).dtype, at_least_single(torch.zeros(2).double()).dtype
        (torch.float32, torch.float64)
    """
    return values.to(single_kind(values))


def log_softmax(logits: Tensor) -> Tensor:
    r"""Log probabilities of logits, :math:`z_k - \log \sum_j e^{z_j}`: ``(*U, K) -> (*U, K)``.

    CUDA's autocast takes them in single precision too; a CPU's does not, and eight bits are too few for a likelihood.

    Example:
        >>> log_softmax(torch.zeros(2, dtype=torch.bfloat16))
        tensor([-0.6931, -0.6931])
    """
    return logits.log_softmax(-1, dtype=single_kind(logits))


def single_kind(values: Tensor) -> torch.dtype:
    """The kind of number that :func:`at_least_single` gives."""
    return torch.promote_types(values.dtype, torch.float32)


def unmixed(device: torch.device) -> AbstractContextManager[None]:
    """Where mixed precision leaves operations on ``device`` as they are.

    Example:
        >>> linear, values = torch.nn.Linear(2, 3), torch.zeros(4, 2)
        >>> with torch.autocast("cpu", torch.bfloat16), unmixed(values.device):
        ...     linear(values).dtype
        torch.float32
    """
    if not torch.amp.is_autocast_available(device.type):
        return nullcontext()
    off: AbstractContextManager[None] = torch.autocast(device.type, enabled=False)
    return off
