"""Soft and hard bootstrapping."""

from __future__ import annotations

from dataclasses import dataclass

from truelabel.learners import Learner
from truelabel.losses import HardBootstrap, SoftBootstrap
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.method import Method
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class SoftBootstrapMethod(Method):
    """The target is the label mixed with the network's own probabilities.

    Attributes:
        beta: trust in the label.
    """

    name = "soft-bootstrap"
    summary = "the label mixed with the network's own probabilities"
    paper = "Reed 2014"
    tasks = ("classification", "segmentation")

    beta: float = 0.95

    def __post_init__(self) -> None:
        SoftBootstrap(self.beta)

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan, SoftBootstrap(self.beta))


@dataclass(frozen=True, kw_only=True)
class HardBootstrapMethod(Method):
    """The target is the label mixed with the class that the network predicts.

    Attributes:
        beta: trust in the label.
    """

    name = "hard-bootstrap"
    summary = "the label mixed with the class that the network predicts"
    paper = "Reed 2014"
    tasks = ("classification", "segmentation")

    beta: float = 0.8

    def __post_init__(self) -> None:
        HardBootstrap(self.beta)

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan, HardBootstrap(self.beta))
