"""What a head with annotators' confusion matrices costs, for few and for many annotators, in one run.

    python benchmarks/annotator_head.py [--threads 1] [--seconds 1.5]

Forward and backward of the head alone (class head, matrices, trace penalty) on given features, and of a whole learner
on given inputs; the optimiser's step, whose cost follows the number of parameters, is shown apart. A batch has 256
examples with one to five labels each, of annotators drawn at random. Beside it the printed listing of Tanno 2019, a
loop over all annotators, and the same as one dense product over examples, annotators and classes.

glibc gives memory back to the system and asks for it again as it sees fit, which can cost more than the step itself
and differs from run to run. Unless its variables are set already, it is told to keep what it has.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.networks import MLP, LeNet5, Network
from truelabel.noise import AnnotatorConfusion, NoNoise
from truelabel.types import Batch

BATCH, SLOTS, TRACE = 256, 5, 0.01
FEW, MANY = 50, 5_000
TARGET = 2.0
"""How much more a step may cost with many annotators."""

KEEP = {"MALLOC_MMAP_THRESHOLD_": "1073741824", "MALLOC_TRIM_THRESHOLD_": "1073741824"}

Work = Callable[[], object]


class Timed(NamedTuple):
    """What runs between two readings of the clock, and what makes it ready before."""

    work: Work
    ready: Work = lambda: None


def alternate(works: dict[str, Timed], seconds: float) -> dict[str, float]:
    """Median time of each in ms; they take turns, so that a busy machine is unfair to none."""
    times: dict[str, list[float]] = {name: [] for name in works}
    end = time.perf_counter() + seconds * len(works)
    turn = 0
    while turn < 6 or time.perf_counter() < end:
        for name, (work, ready) in works.items():
            ready()
            began = time.perf_counter()
            work()
            times[name].append(1e3 * (time.perf_counter() - began))
        turn += 1
    return {name: statistics.median(values[3:]) for name, values in times.items()}


def a_batch(inputs: Tensor, classes: int, annotators: int) -> Batch:
    generator = torch.Generator().manual_seed(0)
    given = torch.arange(SLOTS) < torch.randint(1, SLOTS + 1, (BATCH, 1), generator=generator)
    # The first of a shuffle: nobody labels an example twice.
    who = torch.rand(BATCH, annotators, generator=generator).topk(SLOTS).indices
    said = torch.randint(classes, (BATCH, SLOTS), generator=generator)
    labels, who = (torch.where(given, values, -1) for values in (said, who))
    return Batch(inputs, labels, who, torch.ones(BATCH, SLOTS), None, torch.arange(BATCH))


def forward_backward(learner: Learner, batch: Batch) -> Timed:
    def work() -> None:
        step = learner(batch)
        (step.losses.mean() + step.penalty).backward()

    return Timed(work, lambda: learner.zero_grad())


def optimise(learner: Learner, batch: Batch) -> Timed:
    optimizer = torch.optim.Adam(learner.parameters(), 1e-3)
    forward_backward(learner, batch).work()
    return Timed(optimizer.step)


class Given(Network):
    """Features as they are, so that the head is alone."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.features = features

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs


def ours(network: Network, inputs: Tensor, classes: int, annotators: int) -> tuple[Learner, Batch]:
    noise = AnnotatorConfusion(network.features, classes, annotators, trace=TRACE)
    return Classifier(network, noise, CrossEntropy()), a_batch(inputs, classes, annotators)


class Published:
    """The class head and every annotator's matrix on every example, with plain torch."""

    def __init__(self, features: Tensor, classes: int, annotators: int) -> None:
        batch = a_batch(features, classes, annotators)
        self.features = features
        self.head = torch.nn.Linear(features.shape[1], classes)
        self.rho = (6 * torch.eye(classes) - 5).repeat(annotators, 1, 1).requires_grad_()
        self.labels = torch.full((BATCH, annotators), -1)
        rows = torch.arange(BATCH).unsqueeze(-1).expand(-1, SLOTS)
        given = batch.labels >= 0
        self.labels[rows[given], batch.annotators[given]] = batch.labels[given]

    def clear(self) -> None:
        self.rho.grad = None
        self.head.zero_grad()

    def matrices(self) -> Tensor:
        cells = functional.softplus(self.rho)
        return cells / cells.sum(-1, keepdim=True)

    def backward(self, losses: Tensor, matrices: Tensor) -> None:
        (losses.mean() + TRACE * matrices.diagonal(dim1=-2, dim2=-1).sum(-1).mean()).backward()

    def loop(self) -> None:
        """As printed: one annotator after the other."""
        probs, matrices = self.head(self.features).softmax(-1), self.matrices()
        losses = probs.new_zeros(BATCH)
        for annotator, matrix in enumerate(matrices):
            label = self.labels[:, annotator]
            said = (probs @ matrix).clamp(1e-10, 0.9999999).gather(-1, label.clamp_min(0).unsqueeze(-1)).squeeze(-1)
            losses = losses - said.log() * (label >= 0)
        self.backward(losses, matrices)

    def dense(self) -> None:
        """All annotators at once."""
        probs, matrices = self.head(self.features).softmax(-1), self.matrices()
        said = torch.einsum("nk,rkj->nrj", probs, matrices).clamp(1e-10, 0.9999999)
        log_likelihood = said.gather(-1, self.labels.clamp_min(0).unsqueeze(-1)).squeeze(-1).log()
        self.backward(-torch.where(self.labels >= 0, log_likelihood, 0.0).sum(-1), matrices)


def show(title: str, times: dict[str, float], beside: str) -> None:
    print(title)
    for name, value in times.items():
        print(f"  {name:40} {value:9.3f} ms  {value / times[beside]:7.2f}x")


def verdict(times: dict[str, float]) -> None:
    ratio = times[f"R = {MANY:,}"] / times[f"R = {FEW:,}"]
    print(
        f"  R = {MANY:,} costs {ratio:.2f} times R = {FEW:,} ({'within' if ratio <= TARGET else 'MISSES'} {TARGET:g})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.5, help="for each row")
    options = parser.parse_args()
    if not KEEP.keys() & os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **KEEP})
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    features, images = torch.randn(BATCH, 128), torch.rand(BATCH, 1, 28, 28)

    heads = {f"R = {r:,}": ours(Given(128), features, 10, r) for r in (FEW, MANY)}
    times = alternate({name: forward_backward(*head) for name, head in heads.items()}, options.seconds)
    show(f"Head alone, K = 10, batch {BATCH}, 1-{SLOTS} labels: forward and backward", times, f"R = {FEW:,}")
    verdict(times)

    published = {r: Published(features, 10, r) for r in (FEW, MANY)}
    few, many = (
        {"truelabel": forward_backward(*heads[f"R = {r:,}"]), "dense (N, R, K)": Timed(p.dense, p.clear)}
        for r, p in published.items()
    )
    few["loop of the listing"] = Timed(published[FEW].loop, published[FEW].clear)
    for r, rows in ((FEW, few), (MANY, many)):
        show(f"Head alone, K = 10, R = {r:,}", alternate(rows, options.seconds), "truelabel")

    for title, network, inputs in (
        ("MLP of 2 x 128 on 28 x 28", lambda: MLP(784), images),
        ("LeNet-5 on 28 x 28", LeNet5, images),
    ):
        steps = {f"R = {r:,}": ours(network(), inputs, 10, r) for r in (FEW, MANY)}
        plain = network()
        cross_entropy = Classifier(plain, NoNoise(plain.features, 10), CrossEntropy())
        works = {name: forward_backward(*step) for name, step in steps.items()}
        works["cross entropy of the same labels"] = forward_backward(cross_entropy, a_batch(inputs, 10, FEW))
        times = alternate(works, options.seconds)
        show(f"{title}, K = 10: forward and backward of a step", times, f"R = {FEW:,}")
        verdict(times)
        adam = alternate({name: optimise(*step) for name, step in steps.items()}, options.seconds)
        show("  its Adam, apart", adam, f"R = {FEW:,}")

    low = {f"R = {r:,}": ours(Given(128), features, 100, r) for r in (FEW, MANY)}
    works = {name: forward_backward(*head) for name, head in low.items()}
    times = alternate(works, options.seconds)
    show("Head alone, K = 100: full matrices at R = 50, rank 4 at R = 5,000 (the defaults)", times, f"R = {FEW:,}")


if __name__ == "__main__":
    main()
