"""A short training, eager and compiled: prints the losses of both, and how many graphs were compiled, as JSON."""

from __future__ import annotations

import json

import numpy as np
import torch

from truelabel.annotations import Annotations
from truelabel.methods import get_method, learn
from truelabel.training import Engine, Job, TrainingConfig


def main() -> None:
    inputs = np.random.default_rng(0).normal(size=(64, 4)).astype(np.float32)
    said = Annotations.from_labels((inputs[:, 0] > 0).astype(int), classes=2)
    told = []
    for compiled in (False, True):
        job = Job(inputs, said, "mlp:8", TrainingConfig(epochs=3, batch_size=16), 0, compiled=compiled)
        history = learn(get_method("cross-entropy"), job, Engine(device="cpu")).history
        graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        told.append({"losses": [row["train_loss"] for row in history.rows], "graphs": graphs})
    print(json.dumps(told))


if __name__ == "__main__":
    main()
