from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch


@pytest.fixture(autouse=True)
def seeded() -> Iterator[None]:
    """Every test starts from the same random state and leaves torch's own untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
