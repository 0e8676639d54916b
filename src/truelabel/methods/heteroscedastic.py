"""Heteroscedastic logits: without temperature, with it, and with a covariance between classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.methods.method import Method
from truelabel.noise import GaussianLogits
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class Heteroscedastic(Method):
    r"""Logits with Gaussian noise whose size the network predicts, at a temperature of one.

    Attributes:
        samples: draws in training.
        prediction_samples: draws in evaluation.
    """

    name = "heteroscedastic"
    summary = "logits with Gaussian noise whose size depends on the input"
    paper = "Kendall & Gal 2017"
    tasks = ("classification", "segmentation")

    samples: int = 1000
    prediction_samples: int = 1000

    def __post_init__(self) -> None:
        self.noise(features=1, classes=2)

    def learner(self, plan: Blueprint) -> Learner:
        network = plan.network()
        return Classifier(network, self.noise(network.features, plan.classes), CrossEntropy())

    def noise(self, features: int, classes: int) -> GaussianLogits:
        """The head that samples."""
        return GaussianLogits(features, classes, samples=self.samples, prediction_samples=self.prediction_samples)


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticTemperature(Heteroscedastic):
    """The same with a softmax temperature, which decides how the noise is learned.

    Attributes:
        temperature: τ; the paper searches it on the noisy validation likelihood.
        upsample: for masks that are so many times higher and wider than what the network gives: logits are sampled
            there, then enlarged.
    """

    name = "heteroscedastic-temperature"
    summary = "heteroscedastic logits with a softmax temperature"
    paper = "Collier 2020"
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "temperature": (
            *(0.025, 0.05, 0.1, 0.2, 0.6, 1.0, 1.4, 1.8, 2.2),
            *(2.6, 3.0, 5.0, 10.0, 15.0, 20.0, 35.0, 50.0, 100.0),
        )
    }
    search_score: ClassVar[Literal["accuracy", "likelihood"]] = "likelihood"

    temperature: float = 5.0
    upsample: int = 1

    def noise(self, features: int, classes: int) -> GaussianLogits:
        return GaussianLogits(
            features,
            classes,
            temperature=self.temperature,
            samples=self.samples,
            prediction_samples=self.prediction_samples,
            upsample=self.upsample,
        )

    def space(self, features: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.upsample * side for side in features)


@dataclass(frozen=True, kw_only=True)
class HeteroscedasticFull(Heteroscedastic):
    """The same with a covariance between classes of low rank plus diagonal.

    Attributes:
        temperature: τ.
        factors: its rank.
    """

    name = "heteroscedastic-full"
    summary = "heteroscedastic logits with a covariance between classes"
    paper = "Collier 2021"
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {
        "temperature": (0.1, 0.5, 1.0, 10.0, 20.0),
        "factors": (1, 2, 4),
    }
    search_score: ClassVar[Literal["accuracy", "likelihood"]] = "accuracy"

    temperature: float = 1.0
    factors: int = 4

    def noise(self, features: int, classes: int) -> GaussianLogits:
        return GaussianLogits(
            features,
            classes,
            temperature=self.temperature,
            factors=self.factors,
            samples=self.samples,
            prediction_samples=self.prediction_samples,
        )
