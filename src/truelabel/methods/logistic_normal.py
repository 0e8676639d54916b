"""The logistic-normal likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.methods.method import Method
from truelabel.noise import LogisticNormal
from truelabel.noise.logistic_normal import Covariance
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class LogisticNormalMethod(Method):
    """A regression of logits whose learned covariance attenuates labels that do not fit.

    Attributes:
        temperature: τ.
        scale: λ, the floor of the scale.
        smoothing: t, which makes the target logit finite.
        covariance: "full", "diagonal", "isotropic" or "identity".
        dummy: a class without a logit besides the real ones.
    """

    name = "logistic-normal"
    summary = "regression of logits that attenuates labels that do not fit"
    paper = "Englesson 2023"
    tasks = ("classification", "segmentation")
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {"temperature": (0.1, 0.5, 1.0), "scale": (0.1, 0.5, 1.0)}

    temperature: float = 1.0
    scale: float = 0.5
    smoothing: float = 0.01
    covariance: Covariance = "full"
    dummy: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.dummy, bool):
            raise ValueError(f"dummy must be True or False, got {self.dummy!r}")
        self._noise(features=1, classes=2)

    def learner(self, plan: Blueprint) -> Learner:
        network = plan.network()
        return Classifier(network, self._noise(network.features, plan.classes), CrossEntropy())

    def _noise(self, features: int, classes: int) -> LogisticNormal:
        return LogisticNormal(
            features,
            classes,
            temperature=self.temperature,
            scale=self.scale,
            smoothing=self.smoothing,
            covariance=self.covariance,
            dummy=self.dummy,
        )
