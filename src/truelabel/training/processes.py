"""Values of all processes, side by side."""

from __future__ import annotations

import torch
from lightning_fabric import Fabric
from torch import Tensor


def gather(fabric: Fabric, values: Tensor) -> Tensor:
    """``values (...)`` of each of W processes, in order: ``(W, ...)`` on the engine's device, without gradient.

    Example:
        >>> gather(Fabric(accelerator="cpu", devices=1), torch.tensor([1.0, 2.0]))
        tensor([[1., 2.]])
    """
    if fabric.world_size == 1:
        return values.detach().unsqueeze(0)
    mine = values.detach().to(fabric.device).contiguous()
    parts = [torch.empty_like(mine) for _ in range(fabric.world_size)]
    torch.distributed.all_gather(parts, mine)
    return torch.stack(parts)
