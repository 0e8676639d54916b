"""Trains a two-stage toy method, killed with SIGKILL at each of the points given, and prints a digest of its weights.

    python kill_and_resume.py FOLDER [POINT ...]      POINT = stage:epoch:step | :before-save | :in-write

Each attempt is a fork that dies at its point; the last one runs to the end. Forking keeps the imports warm.
"""

from __future__ import annotations

import hashlib
import os
import signal
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import torch
from torch import Tensor, nn

from truelabel import Annotations
from truelabel.corruption import ConfusedAnnotators, symmetric
from truelabel.data import two_moons
from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.methods import Learned, Method, learn
from truelabel.noise import NoNoise
from truelabel.training import Blueprint, Engine, Job, Run, TrainingConfig
from truelabel.types import Batch

STEPS = 4
CONFIG = TrainingConfig(epochs=3, batch_size=40, validation=0.2, optimizer="adam", schedule="cosine")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Jitter:
    """An augmentation that draws numbers for the batch and for every value, and dies at a given step."""

    def __init__(self, stage: str, point: str, folder: Path) -> None:
        self.stage, self.point, self.step = stage, point, 0
        metrics = folder / stage / "metrics.csv"
        self.step = STEPS * (len(metrics.read_text().splitlines()) - 1) if metrics.exists() else 0

    def __call__(self, batch: Batch) -> Batch:
        epoch, step = divmod(self.step, STEPS)
        if self.point == f"{self.stage}:{epoch}:{step}":
            die()
        self.step += 1
        scale = 1 + 0.1 * torch.rand(())
        return batch._replace(inputs=batch.inputs * scale + 0.05 * torch.randn_like(batch.inputs))


class DropoutNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3))

    def forward(self, inputs: Tensor) -> Tensor:
        features: Tensor = self.layers(inputs)
        return features


@dataclass(frozen=True, kw_only=True)
class TwoStage(Method):
    """Warm up, turn the posterior into soft targets, train a second network on them."""

    name = "two-stage"
    summary = "toy"
    paper = "toy"

    point: str = ""

    def learner(self, plan: Blueprint) -> Learner:
        network = plan.network()
        return Classifier(network, NoNoise(network.features, plan.classes), CrossEntropy())

    def learn(self, run: Run) -> Learned:
        assert run.job.folder is not None
        folder = run.job.folder
        first = run.fit("1-warm", run.build("1-warm", self.learner), transforms=[Jitter("1-warm", self.point, folder)])
        example = torch.from_numpy(run.annotations.example).long()

        def targets() -> Mapping[str, Tensor]:
            return {"soft": run.posterior(first.peers[0])[example]}

        soft = run.once("1-targets", targets)["soft"]
        peers = run.build("2-soft", self.learner, peers=2)
        second = run.fit("2-soft", peers, soft=soft, transforms=[Jitter("2-soft", self.point, folder)])
        return Learned(second.peers[1], second.history)


def data() -> tuple[Tensor, Annotations]:
    generator = torch.Generator().manual_seed(3)
    moons = two_moons(200, 0.1, generator)
    corruption = ConfusedAnnotators(symmetric(2, 0.3).expand(3, 2, 2), labels_per_example=(1, 3))
    return torch.from_numpy(moons.inputs), corruption(torch.from_numpy(moons.labels), None, generator)


def attempt(folder: Path, point: str) -> str:
    inputs, annotations = data()
    stage, epoch, what = point.split(":") if point else ("", "", "")

    def evaluate(learner: Learner) -> dict[str, float]:
        now = "2-soft" if (folder / "1-warm" / "finished.json").exists() else "1-warm"
        rows = folder / now / "metrics.csv"
        done = len(rows.read_text().splitlines()) - 1 if rows.exists() else 0
        if point == f"{now}:{done}:before-save":
            die()
        return {"weight": float(next(learner.parameters()).detach().sum())}

    if what == "in-write":
        whole = os.fsync
        writes = [0]

        def fsync(descriptor: int) -> None:
            whole(descriptor)
            target = str(Path(f"/proc/self/fd/{descriptor}").readlink())
            if f"/{stage}/last.safetensors" in target:
                writes[0] += 1
                if writes[0] == int(epoch) + 1:
                    die()

        mock.patch.object(os, "fsync", fsync).start()
    job = Job(inputs.numpy(), annotations, lambda shape: DropoutNet(), CONFIG, seed=5, folder=folder, evaluate=evaluate)
    learned = learn(TwoStage(), job, Engine(device="cpu")) if not point else _with_point(job, point)
    digest = hashlib.sha256()
    for name, value in sorted(learned.learner.state_dict().items()):
        digest.update(name.encode() + value.numpy().tobytes())
    return digest.hexdigest()


def _with_point(job: Job, point: str) -> Learned:
    # The point of death is no part of the run's settings: the run goes on without it.
    fabric = Engine(device="cpu").fabric("32-true")
    return TwoStage(point=point).learn(Run(job, fabric))


if __name__ == "__main__":
    torch.set_num_threads(1)
    target = Path(sys.argv[1])
    for where in sys.argv[2:]:
        child = os.fork()
        if not child:
            attempt(target, where)
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
            sys.exit(f"the attempt with {where} was not killed")
    print(attempt(target, ""))
