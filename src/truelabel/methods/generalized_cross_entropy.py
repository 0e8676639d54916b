"""Generalized cross entropy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from truelabel.learners import Learner
from truelabel.losses import GeneralizedCrossEntropy
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.method import Method
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class GeneralizedCrossEntropyMethod(Method):
    """A bounded loss between cross entropy and mean absolute error.

    Attributes:
        q: 0 would be cross entropy, 1 is mean absolute error.
    """

    name = "generalized-cross-entropy"
    summary = "a bounded loss that gives up on labels that do not fit"
    paper = "Zhang & Sabuncu 2018"
    tasks = ("classification", "segmentation")
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {"q": (0.1, 0.3, 0.5, 0.7, 0.9)}

    q: float = 0.7

    def __post_init__(self) -> None:
        GeneralizedCrossEntropy(self.q)

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan, GeneralizedCrossEntropy(self.q))
