"""Trains toys in one process and in two with the same global batch; prints the largest difference of any weight."""

from __future__ import annotations

import json
from dataclasses import dataclass

import torch
from torch import Tensor

from truelabel import Annotations
from truelabel.data import two_moons
from truelabel.learners import Learner
from truelabel.methods import METHODS, Learned, Method, learn
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.selection import Selector
from truelabel.training import Blueprint, Engine, Job, Run, TrainingConfig

CONFIG = TrainingConfig(epochs=3, batch_size=40, optimizer="sgd", learning_rate=0.1, validation=0.1)


class Exchange(Selector):
    """Each peer learns the 60 % of the global batch that cost the other least: no share of the batch can tell."""

    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        self.calls += 1
        kept = int(0.6 * losses.shape[1])
        weights = torch.zeros_like(losses).scatter(1, losses.argsort(1)[:, :kept], losses.shape[1] / kept)
        return weights.flip(0)


@dataclass(frozen=True, kw_only=True)
class TwoPeers(Method):
    name = "two-peers"
    summary = "toy"
    paper = "toy"

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)

    def learn(self, run: Run) -> Learned:
        fitted = run.fit("main", run.build("main", self.learner, peers=2), selector=Exchange())
        return Learned(fitted.peers[1], fitted.history)


def main() -> None:
    torch.set_num_threads(1)
    moons = two_moons(250, 0.2, torch.Generator().manual_seed(0))
    job = Job(moons.inputs, Annotations.from_labels(moons.labels), "mlp:16", CONFIG, seed=1)
    result = {}
    for method in (METHODS["cross-entropy"], TwoPeers()):
        one = learn(method, job, Engine(device="cpu")).learner.state_dict()
        two = learn(method, job, Engine(device="cpu", processes=2)).learner.state_dict()
        start = Run(job, Engine(device="cpu").fabric("32-true")).build("main", method.learner)[0].state_dict()
        result[method.name] = {
            "difference": max(float((one[name] - two[name]).abs().max()) for name in one),
            "moved": max(float((one[name] - start[name]).abs().max()) for name in one),
        }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
