from __future__ import annotations

import pytest
import torch
from lightning_fabric import Fabric

from truelabel import Annotations
from truelabel.data import two_moons
from truelabel.training import Engine, Job, TrainingConfig


@pytest.fixture(scope="session")
def fabric() -> Fabric:
    return Engine(device="cpu").fabric("32-true")


@pytest.fixture
def job() -> Job:
    moons = two_moons(120, 0.1, torch.Generator().manual_seed(0))
    config = TrainingConfig(epochs=4, batch_size=32, learning_rate=0.01)
    return Job(moons.inputs, Annotations.from_labels(moons.labels), "mlp:16", config, seed=0)
