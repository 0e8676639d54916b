"""Bi-tempered logistic loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from truelabel.learners import Classifier, Learner
from truelabel.losses import BiTempered
from truelabel.methods.method import Method
from truelabel.noise import TemperedHead
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class BiTemperedMethod(Method):
    """A bounded loss on a softmax with heavy tails.

    Attributes:
        t1: temperature of the loss; below 1 bounds it.
        t2: temperature of the softmax; above 1 gives it heavy tails.
    """

    name = "bi-tempered"
    summary = "a bounded loss on a softmax with heavy tails"
    paper = "Amid 2019"
    tasks = ("classification", "segmentation")
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {"t1": (0.5, 0.7, 0.9), "t2": (1.1, 2.0, 4.0)}

    t1: float = 0.7
    t2: float = 2.0

    def __post_init__(self) -> None:
        BiTempered(self.t1, self.t2)

    def learner(self, plan: Blueprint) -> Learner:
        network = plan.network()
        return Classifier(network, TemperedHead(network.features, plan.classes, self.t2), BiTempered(self.t1, self.t2))
