"""Noise against noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from truelabel.learners import Learner
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.method import Learned, Method
from truelabel.training import Blueprint, Run
from truelabel.transforms import NoiseAgainstNoise


@dataclass(frozen=True, kw_only=True)
class NoiseAgainstNoiseMethod(Method):
    """Cross entropy with Gaussian noise on the targets, fresh at every step.

    Attributes:
        sigma: its standard deviation.
    """

    name = "noise-against-noise"
    summary = "cross entropy with Gaussian noise on the targets"
    paper = "Chen 2020"
    tasks = ("classification", "segmentation")
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {"sigma": (0.1, 0.2, 0.5, 0.75, 1.0)}

    sigma: float = 0.5

    def __post_init__(self) -> None:
        NoiseAgainstNoise(1, self.sigma)

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)

    def learn(self, run: Run) -> Learned:
        transform = NoiseAgainstNoise(run.plan.classes, self.sigma)
        fitted = run.fit("main", run.build("main", self.learner), transforms=[transform])
        return Learned(fitted.peers[0], fitted.history)
