"""Methods in which networks choose what they learn from: co-teaching, decoupling, MentorNet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from truelabel.learners import Learner
from truelabel.methods.method import Learned, Method
from truelabel.methods.noise_rate import NoiseRateMethod
from truelabel.methods.one_stage import ONE_STAGE, check_base
from truelabel.selection import CoTeaching, Disagreement, SelfPaced
from truelabel.training import Blueprint, Run


@dataclass(frozen=True, kw_only=True)
class Taught(NoiseRateMethod):
    """Two learners; each learns from the examples that the other finds easy.

    Attributes:
        ramp: epochs over which the share that is forgotten grows from zero to the noise rate.
    """

    in_epochs = ("warm_up", "ramp")

    ramp: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.ramp < math.inf:
            raise ValueError(f"ramp must be a number of epochs, 0 or more, got {self.ramp!r}")

    def learn(self, run: Run) -> Learned:
        rate = self.rate(run)
        selector = CoTeaching(rate.value, self.ramp / run.job.config.epochs)
        fitted = run.fit("main", run.build("main", self.learner, peers=2), selector=selector)
        return Learned(fitted.peers[0], fitted.history, rate.note())


@dataclass(frozen=True, kw_only=True)
class CoTeachingMethod(Taught):
    """Two networks; each learns from the examples that the other finds easy (Han 2018).

    Attributes:
        base: the method whose learner the peers are, one of a single stage.
    """

    name = "co-teaching"
    summary = "two networks teach each other by their small losses"
    paper = "Han 2018"
    tasks = ("classification", "segmentation")

    base: str = "cross-entropy"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_base(self.base)

    def learner(self, plan: Blueprint) -> Learner:
        return ONE_STAGE[self.base].learner(plan)


@dataclass(frozen=True, kw_only=True)
class Decoupling(Method):
    """Two networks; both learn from the examples on which they disagree (Malach 2017).

    Attributes:
        base: the method whose learner the peers are, one of a single stage.
    """

    name = "decoupling"
    summary = "two networks learn where they disagree"
    paper = "Malach 2017"
    tasks = ("classification", "segmentation")

    base: str = "cross-entropy"

    def __post_init__(self) -> None:
        check_base(self.base)

    def learner(self, plan: Blueprint) -> Learner:
        return ONE_STAGE[self.base].learner(plan)

    def learn(self, run: Run) -> Learned:
        fitted = run.fit("main", run.build("main", self.learner, peers=2), selector=Disagreement())
        return Learned(fitted.peers[0], fitted.history)


@dataclass(frozen=True, kw_only=True)
class MentorNet(NoiseRateMethod):
    """One network with a curriculum: losses above a moving quantile do not count (Jiang 2018, the self-paced form).

    Attributes:
        softness: λ₂, over which range above the quantile the weight falls to zero; zero cuts.
        decay: of the moving quantile λ₁.
        burn_in: epochs in which every label counts.
        base: the method whose learner is trained, one of a single stage.
    """

    name = "mentornet"
    summary = "a curriculum: labels with large losses do not count"
    paper = "Jiang 2018"
    tasks = ("classification", "segmentation")
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {"softness": (0.0, 0.5, 1.0, 2.0), "burn_in": (0, 5, 10)}

    in_epochs = ("warm_up", "burn_in")

    softness: float = 0.0
    decay: float = 0.9
    burn_in: int = 10
    base: str = "cross-entropy"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_base(self.base)
        self.selector(self.noise_rate or 0.0, self.burn_in)

    def selector(self, rate: float, burn_in: float) -> SelfPaced:
        """The curriculum for a noise rate and a burn-in, a share of the training."""
        return SelfPaced(rate, self.softness, self.decay, burn_in)

    def learner(self, plan: Blueprint) -> Learner:
        return ONE_STAGE[self.base].learner(plan)

    def learn(self, run: Run) -> Learned:
        rate = self.rate(run)
        selector = self.selector(rate.value, self.burn_in / run.job.config.epochs)
        fitted = run.fit("main", run.build("main", self.learner), selector=selector)
        return Learned(fitted.peers[0], fitted.history, rate.note())
