"""MNIST with noisy labels, the protocol of Englesson 2023 (Table 1): LeNet-5, Adam 1e-3, batch 256, 100 epochs.

    python benchmarks/mnist_noise.py --out results/mnist_noise.jsonl [--seeds 5] [--epochs 100] [--examples 50000]

Needs MNIST under the data root. The first 50,000 training images are used, 10 % of them held out with their noisy
labels. Options are the paper's; for logistic-normal they are also searched on the noisy validation labels with the
first seed, as the paper does, and what is found is used for all seeds. The score is the clean test accuracy of the last
epoch. One JSON line a run is appended; runs that are already there are skipped.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from truelabel.corruption import MNIST_MAP, ConfusedAnnotators, asymmetric, symmetric
from truelabel.data import mnist
from truelabel.learners import Learner
from truelabel.methods import get_method, learn, search
from truelabel.training import Engine, Job, TrainingConfig, clean_probs

CONFIG = TrainingConfig(epochs=100, batch_size=256, learning_rate=1e-3, select="last")
NOISE = {"asymmetric-40": asymmetric(10, 0.4, MNIST_MAP), "symmetric-40": symmetric(10, 0.4)}
PAPER: list[tuple[str, str, dict[str, Any]]] = [
    ("asymmetric-40", "cross-entropy", {}),
    ("asymmetric-40", "generalized-cross-entropy", {"q": 0.3}),
    ("asymmetric-40", "logistic-normal", {"temperature": 0.5, "scale": 0.1}),
    ("symmetric-40", "cross-entropy", {}),
    ("symmetric-40", "generalized-cross-entropy", {"q": 0.9}),
    ("symmetric-40", "logistic-normal", {"temperature": 1.0, "scale": 0.5}),
]


class Bench:
    """The data on a device, the results so far, and how to add one."""

    def __init__(self, out: Path, examples: int, epochs: int, device: Any) -> None:
        self.out, self.engine = out, Engine(device=device)
        self.train, self.test = mnist("train").take(np.arange(examples)), mnist("test")
        self.config = replace(CONFIG, epochs=epochs)
        self.device = self.engine.fabric("32-true").device
        self.inputs = torch.from_numpy(self.test.inputs).to(self.device)
        self.truth = torch.from_numpy(self.test.labels)
        self.done = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []

    def job(self, noise: str, seed: int) -> Job:
        generator = torch.Generator().manual_seed(seed)
        annotations = ConfusedAnnotators(NOISE[noise])(torch.from_numpy(self.train.labels), None, generator)
        capture = self.device.type == "cuda"
        return Job(self.train.inputs, annotations, "lenet-5", self.config, seed, capture=capture)

    def accuracy(self, learner: Learner) -> float:
        return float((clean_probs(learner, self.inputs).argmax(-1) == self.truth).float().mean())

    def run(self, noise: str, method: str, options: dict[str, Any], seed: int, chosen_by: str) -> None:
        key = {
            "noise": noise,
            "method": method,
            "options": options,
            "seed": seed,
            "chosen_by": chosen_by,
            "epochs": self.config.epochs,
            "examples": len(self.train),
        }
        if any(all(line.get(name) == value for name, value in key.items()) for line in self.done):
            return
        began = time.perf_counter()
        learned = learn(get_method(method).with_options(**options), self.job(noise, seed), self.engine)
        line = {
            **key,
            "test_accuracy": self.accuracy(learned.learner),
            "noisy_validation_accuracy": learned.history.rows[-1]["valid_accuracy"],
            "train_loss": learned.history.rows[-1]["train_loss"],
            "seconds": round(time.perf_counter() - began, 1),
            "device": torch.cuda.get_device_name() if self.device.type == "cuda" else "cpu",
            "torch": torch.__version__,
        }
        self.done.append(line)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        with self.out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        print(
            f"{noise:14} {method:26} {options} seed {seed}: {line['test_accuracy']:.4f} in {line['seconds']} s",
            flush=True,
        )

    def searched(self, noise: str, method: str) -> dict[str, Any]:
        found = search(get_method(method), self.job(noise, 0), self.engine)
        for trial in found.trials:
            print(
                f"{noise:14} {method} search {trial.options}: {trial.score:.4f} of noisy validation labels", flush=True
            )
        chosen = max(found.trials, key=lambda trial: trial.score)
        return chosen.options


def summary(lines: list[dict[str, Any]]) -> None:
    """Mean and standard deviation over seeds."""
    groups: dict[str, list[float]] = {}
    for line in lines:
        name = (
            f"{line['noise']:14} {line['method']:26} {line['options']} ({line['chosen_by']}, {line['epochs']} epochs)"
        )
        groups.setdefault(name, []).append(line["test_accuracy"])
    for name, values in groups.items():
        spread = np.std(values, ddof=1) if len(values) > 1 else float("nan")
        print(f"{name}: {100 * np.mean(values):.2f} ± {100 * spread:.2f} ({len(values)} seeds)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--examples", type=int, default=50_000)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--no-search", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    bench = Bench(arguments.out, arguments.examples, arguments.epochs, arguments.device)
    for seed in range(arguments.seeds):
        for noise, method, options in PAPER:
            bench.run(noise, method, options, seed, "paper")
    if not arguments.no_search:
        for noise in NOISE:
            options = bench.searched(noise, "logistic-normal")
            for seed in range(arguments.seeds):
                bench.run(noise, "logistic-normal", options, seed, "noisy validation")
    summary(bench.done)


if __name__ == "__main__":
    main()
