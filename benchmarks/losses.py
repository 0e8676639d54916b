"""What a likelihood costs beside cross entropy, in one run.

    python benchmarks/losses.py [--threads 1]

Forward and backward of the loss alone (heads left out) on a batch of 128, and one whole training step of LeNet-5. The
column for TensorFlow Probability is its ratio to cross entropy as measured once on another machine of the same kind.
For the sampled heteroscedastic head see benchmarks/heteroscedastic.py.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from truelabel.learners import Classifier
from truelabel.losses import CrossEntropy, bi_tempered, generalized_cross_entropy, soft_bootstrap
from truelabel.networks import LeNet5
from truelabel.noise import LogisticNormal, NoNoise
from truelabel.noise.logit_density import LogitDensity, RankOneScale
from truelabel.types import Batch

BATCH = 128
TENSORFLOW_PROBABILITY = {10: 0.68 / 0.095, 100: 1.09 / 0.17, 1000: 5.5 / 0.85}


def alternate(works: dict[str, Callable[[], object]], seconds: float = 1.5) -> dict[str, float]:
    """Median time of each in ms; they take turns, so that a busy machine is unfair to none."""
    for work in works.values():
        for _ in range(3):
            work()
    times: dict[str, list[float]] = {name: [] for name in works}
    end = time.perf_counter() + seconds * len(works)
    while time.perf_counter() < end:
        for name, work in works.items():
            began = time.perf_counter()
            work()
            times[name].append(1e3 * (time.perf_counter() - began))
    return {name: statistics.median(values) for name, values in times.items()}


def losses(classes: int) -> dict[str, Callable[[], object]]:
    generator = torch.Generator().manual_seed(0)
    logits, spread = (torch.randn(BATCH, classes, generator=generator).requires_grad_() for _ in range(2))
    labels = torch.randint(0, classes, (BATCH,), generator=generator)

    def backward(value: Tensor) -> None:
        logits.grad = spread.grad = None
        value.sum().backward()

    def logistic_normal() -> None:
        density = LogitDensity(logits.unsqueeze(-2), RankOneScale(spread.unsqueeze(-2), 0.5), 7.0, True)
        backward(-density.at(labels.unsqueeze(-1)))

    return {
        "cross entropy (torch)": lambda: backward(functional.cross_entropy(logits, labels, reduction="none")),
        "logistic-normal": logistic_normal,
        "generalized cross entropy": lambda: backward(generalized_cross_entropy(logits, labels)),
        "soft bootstrap": lambda: backward(soft_bootstrap(logits, labels)),
        "bi-tempered": lambda: backward(bi_tempered(logits, labels)),
    }


def training_step(learner: Classifier) -> Callable[[], object]:
    optimizer = torch.optim.Adam(learner.parameters(), 1e-3)
    generator = torch.Generator().manual_seed(0)
    images = torch.rand(BATCH, 1, 28, 28, generator=generator)
    labels = torch.randint(0, 10, (BATCH, 1), generator=generator)
    batch = Batch(images, labels, torch.zeros_like(labels), torch.ones(BATCH, 1), None, torch.arange(BATCH))

    def step() -> None:
        optimizer.zero_grad()
        learner(batch).losses.mean().backward()
        optimizer.step()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    torch.set_num_threads(parser.parse_args().threads)
    for classes, peer in TENSORFLOW_PROBABILITY.items():
        times = alternate(losses(classes))
        plain = times["cross entropy (torch)"]
        print(f"K = {classes}, batch {BATCH}, forward and backward")
        for name, value in times.items():
            note = f"   TensorFlow Probability: {peer:.1f}x" if name == "logistic-normal" else ""
            print(f"  {name:28} {value:7.3f} ms  {value / plain:5.2f}x cross entropy{note}")
    steps = alternate(
        {
            "cross entropy": training_step(Classifier(LeNet5(), NoNoise(84, 10), CrossEntropy())),
            "logistic-normal": training_step(Classifier(LeNet5(), LogisticNormal(84, 10), CrossEntropy())),
        },
        seconds=6,
    )
    print("One training step of LeNet-5, Adam, batch 128")
    for name, value in steps.items():
        print(f"  {name:28} {value:7.3f} ms  {value / steps['cross entropy']:5.2f}x cross entropy")


if __name__ == "__main__":
    main()
