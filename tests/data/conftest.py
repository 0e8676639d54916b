"""Real data where the checkout lies beside it; tests that ask for it skip elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PACKED = Path(__file__).resolve().parents[2].parent / "shared" / "data"


def unpack(folder: Path, *names: str) -> Path:
    script = PACKED / "unpack.py"
    if not script.is_file():
        pytest.skip("the real data sets are not beside this checkout")
    subprocess.run([sys.executable, str(script), str(folder), *names], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def real_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with MNIST, Fashion-MNIST and CIFAR-10N."""
    return unpack(tmp_path_factory.mktemp("real"), "mnist", "fashion_mnist", "cifar10n")


@pytest.fixture(scope="session")
def real_cifar10(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with CIFAR-10, apart because unpacking it takes seconds."""
    return unpack(tmp_path_factory.mktemp("real-cifar"), "cifar10")
