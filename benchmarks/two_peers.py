"""What a step of a method with two networks costs beside the step of one network, in one run.

    python benchmarks/two_peers.py [--threads 1] [--device cpu] [--network lenet-5] [--batch 128]

One optimiser step on images of 28 x 28 pixels: batch by index, forward, selection, backward, Adam. Methods take turns,
so that a busy machine is unfair to none. On a GPU the step is recorded as a CUDA graph, as ``Job(capture=True)`` does.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.learners import Learner
from truelabel.methods import get_method
from truelabel.selection import CoTeaching, Disagreement, KeepAll, Selector, SelfPaced
from truelabel.training import Blueprint, Engine, TrainingConfig, TrainingSet
from truelabel.training.capture import CapturedStep
from truelabel.training.optimizers import build_optimizer
from truelabel.training.step import step_loss

EXAMPLES = 4096


def step(learners: list[Learner], selector: Selector, data: TrainingSet, device: str) -> Callable[[Tensor], None]:
    """One training step as a function of the index of its examples."""
    fabric = Engine(device=device).fabric("32-true")  # type: ignore[arg-type]
    peers = [fabric.setup_module(learner.train()) for learner in learners]
    optimizers = [build_optimizer(learner, TrainingConfig(), fabric.device, steps=1000) for learner in learners]
    selector, progress = selector.to(fabric.device), torch.tensor(0.5, device=fabric.device)

    def clear() -> None:
        for optimizer in optimizers:
            optimizer.zero_grad()

    def train(index: Tensor) -> None:
        loss = step_loss(fabric, peers, data.batch(index), selector, progress)
        fabric.backward(loss.total)
        for optimizer in optimizers:
            optimizer.step()

    if fabric.device.type == "cuda":
        return CapturedStep(train, clear)

    def eager(index: Tensor) -> None:
        clear()
        train(index)

    return eager


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--network", default="lenet-5")
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seconds", type=float, default=60.0)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(0)
    images = torch.randint(256, (EXAMPLES, 1, 28, 28), dtype=torch.uint8)
    data = TrainingSet(images, Annotations.from_labels(np.arange(EXAMPLES) % 10), device=arguments.device)
    plan = Blueprint(arguments.network, (1, 28, 28), classes=10, annotators=1)

    def peers(method: str, count: int) -> list[Learner]:
        return [get_method(method).learner(plan) for _ in range(count)]

    steps = {
        "one network": step(peers("cross-entropy", 1), KeepAll(), data, arguments.device),
        "mentornet": step(peers("cross-entropy", 1), SelfPaced(0.4), data, arguments.device),
        "co-teaching": step(peers("cross-entropy", 2), CoTeaching(0.4), data, arguments.device),
        "decoupling": step(peers("cross-entropy", 2), Disagreement(), data, arguments.device),
        "causal-nl, one branch": step(peers("causal-nl", 1), KeepAll(), data, arguments.device),
        "causal-nl": step(peers("causal-nl", 2), CoTeaching(0.4), data, arguments.device),
    }
    batches = torch.randint(EXAMPLES, (16, arguments.batch), device=arguments.device)
    sync = torch.cuda.synchronize if arguments.device == "cuda" else lambda: None
    times: dict[str, list[float]] = {name: [] for name in steps}
    for work in steps.values():
        for index in batches[:5]:
            work(index)
    end = time.perf_counter() + arguments.seconds
    turn = 0
    while time.perf_counter() < end:
        for name, work in steps.items():
            sync()
            began = time.perf_counter()
            work(batches[turn % len(batches)])
            sync()
            times[name].append(1000 * (time.perf_counter() - began))
        turn += 1
    medians = {name: statistics.median(values) for name, values in times.items()}
    print(
        f"{arguments.network}, batch {arguments.batch}, {arguments.device}, {arguments.threads} threads, {turn} turns"
    )
    print(f"{'step of':24} {'ms':>8}  ratio")
    for name, value in medians.items():
        base = "causal-nl, one branch" if name == "causal-nl" else "one network"
        print(f"{name:24} {value:8.2f}  {value / medians[base]:.2f}x {base}")


if __name__ == "__main__":
    main()
