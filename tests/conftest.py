from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch

# Without a GPU, kernels run in Triton's interpreter, which has to be said before Triton is imported.
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")


def pytest_configure() -> None:
    # Processes that test side by side would otherwise fight over the cores; bits also depend on the thread count.
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def seeded_torch() -> Iterator[None]:
    """Every test starts from the same random state of torch and leaves it untouched for the next."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        yield
