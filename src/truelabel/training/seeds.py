"""Randomness with a name: every generator follows from (seed, stage, purpose), and none is shared."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

import torch


def seed_of(seed: int, stage: str, purpose: str, rank: int = 0) -> int:
    """A seed for one purpose in one stage on one process.

    Example:
        >>> seed_of(0, "main", "order") == seed_of(0, "main", "order")
        True
        >>> seed_of(0, "main", "order") == seed_of(0, "main", "split")
        False
    """
    digest = hashlib.sha256(repr((seed, stage, purpose, rank)).encode()).digest()
    return int.from_bytes(digest[:7], "big")


def generator_of(seed: int, stage: str, purpose: str, rank: int = 0) -> torch.Generator:
    """A CPU generator for one purpose in one stage on one process."""
    return torch.Generator().manual_seed(seed_of(seed, stage, purpose, rank))


@contextmanager
def seeded(seed: int, stage: str, purpose: str, rank: int = 0, device: torch.device | None = None) -> Iterator[None]:
    """Torch's default generators, of the CPU and of ``device``, seeded inside and given back untouched."""
    devices = [device] if device is not None and device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed_of(seed, stage, purpose, rank))
        yield
