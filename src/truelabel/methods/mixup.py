"""Mixup."""

from __future__ import annotations

from dataclasses import dataclass

from truelabel.learners import Learner
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.method import Learned, Method
from truelabel.training import Blueprint, Run
from truelabel.transforms import Mixup


@dataclass(frozen=True, kw_only=True)
class MixupMethod(Method):
    """Cross entropy on convex combinations of pairs of examples.

    Attributes:
        alpha: of the Beta distribution that the share is drawn from.
    """

    name = "mixup"
    summary = "cross entropy on mixtures of pairs of examples"
    paper = "Zhang 2018"
    tasks = ("classification", "segmentation")

    alpha: float = 1.0

    def __post_init__(self) -> None:
        Mixup(self.alpha)

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)

    def learn(self, run: Run) -> Learned:
        fitted = run.fit("main", run.build("main", self.learner), transforms=[Mixup(self.alpha)])
        return Learned(fitted.peers[0], fitted.history)
