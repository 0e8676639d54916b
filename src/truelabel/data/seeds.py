"""A number or a generator: where a toy takes its draws from."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def generator_of(seed: int | torch.Generator) -> torch.Generator:
    """The generator itself, or a new CPU generator with this seed."""
    import torch

    return seed if isinstance(seed, torch.Generator) else torch.Generator().manual_seed(seed)
