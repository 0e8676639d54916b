"""Methods that correct for one transition matrix: forward, reweight, T-revision."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, get_args

import torch
from torch import Tensor

from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy, Loss, Reweight
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.method import Learned, Method
from truelabel.noise import Transition, estimate_transition
from truelabel.training import Blueprint, Run
from truelabel.training.config import Select

Matrix = tuple[tuple[float, ...], ...]


@dataclass(frozen=True, kw_only=True)
class TransitionMethod(Method):
    """Estimate the transition by a warm-up with cross entropy and anchor points, or take the one given.

    Attributes:
        transition: ``[true, observed]``, rows of probabilities; estimated if None.
        warm_up: epochs of the warm-up, at most those of the training.
        warm_up_select: whose weights find the anchors: those of the "best" epoch on noisy validation labels, or of the
            "last", which in a long training has learned wrong labels by heart and finds a transition near the identity.
        quantile: percentile rule for anchor points; None takes the most probable example of each class.
    """

    in_epochs: ClassVar[tuple[str, ...]] = ("warm_up",)

    transition: Matrix | None = None
    warm_up: int = 20
    warm_up_select: Select = "best"
    quantile: float | None = 0.97

    def __post_init__(self) -> None:
        if self.warm_up < 1:
            raise ValueError(f"warm_up must be at least 1, got {self.warm_up!r}")
        if self.warm_up != int(self.warm_up):
            raise ValueError(f"warm_up must be a whole number, got {self.warm_up!r}")
        if self.warm_up_select not in get_args(Select):
            choices = ", ".join(get_args(Select))
            raise ValueError(f"warm_up_select must be one of {choices}, got {self.warm_up_select!r}")
        if self.quantile is not None and not 0 < self.quantile <= 1:
            raise ValueError(f"quantile must lie in (0, 1], or be None, got {self.quantile!r}")
        if self.transition is not None:
            rows = tuple(tuple(float(p) for p in row) for row in self.transition)
            if not all(len(row) == len(rows) and min(row) >= 0 and abs(sum(row) - 1) <= 1e-4 for row in rows):
                raise ValueError("transition must be square, with rows of probabilities that sum to one")
            object.__setattr__(self, "transition", rows)

    @abstractmethod
    def loss(self) -> Loss:
        """What is minimised once the transition is known."""

    def learner(self, plan: Blueprint) -> Learner:
        return corrected(plan, self.given(plan), self.loss())

    def given(self, plan: Blueprint) -> Tensor:
        """The transition given, or the identity in its place."""
        if self.transition is None:
            return torch.eye(plan.classes)
        if len(self.transition) != plan.classes:
            raise ValueError(f"transition is for {len(self.transition)} classes, but there are {plan.classes}")
        return torch.tensor(self.transition)

    def warm(self, run: Run) -> tuple[Learner | None, Tensor]:
        """The network of the warm-up, None if it is not needed, and the transition."""
        if self.transition is not None:
            return None, torch.tensor(self.transition)
        epochs = min(self.warm_up, run.job.config.epochs)
        config = replace(run.job.config, epochs=epochs, select=self.warm_up_select)
        network = run.fit("1-warm-up", run.build("1-warm-up", plain_classifier), config=config).peers[0]

        def anchors() -> dict[str, Tensor]:
            posterior = run.posterior(network)[run.split.train.cpu()]
            return {"transition": estimate_transition(posterior.flatten(0, -2), self.quantile)}

        return network, run.once("1-transition", anchors)["transition"]


@dataclass(frozen=True, kw_only=True)
class Forward(TransitionMethod):
    r"""Forward correction: :math:`-\log (p^\top T)_{\tilde y}` with a fixed transition, on a new network."""

    name = "forward"
    summary = "the likelihood of labels through a fixed transition"
    paper = "Patrini 2017"
    tasks = ("classification", "segmentation")

    def loss(self) -> Loss:
        return CrossEntropy()

    def learn(self, run: Run) -> Learned:
        _, transition = self.warm(run)
        fitted = run.fit("main", run.build("main", lambda plan: corrected(plan, transition, self.loss())))
        return Learned(fitted.peers[0], fitted.history)


@dataclass(frozen=True, kw_only=True)
class ReweightMethod(TransitionMethod):
    r"""Importance reweighting, from the weights of the warm-up on."""

    name = "reweight"
    summary = "cross entropy weighted by how likely each label is true"
    paper = "Liu & Tao 2016"
    tasks = ("classification", "segmentation")

    def loss(self) -> Loss:
        return Reweight()

    def learn(self, run: Run) -> Learned:
        start, transition = self.warm(run)
        peers = run.build("main", lambda plan: corrected(plan, transition, self.loss()))
        if start is not None:
            take_up(peers[0], start)
        fitted = run.fit("main", peers)
        return Learned(fitted.peers[0], fitted.history)


@dataclass(frozen=True, kw_only=True)
class TRevision(TransitionMethod):
    r"""Reweighting, then a revision in which :math:`T + \Delta T` is learned along with the network (Xia 2019).

    Attributes:
        revision_epochs: of the last stage; as many as the training has if None.
        revision_rate: learning rate of the last stage, for Adam.
    """

    name = "t-revision"
    summary = "reweighting with a transition that is revised in training"
    paper = "Xia 2019"
    tasks = ("classification", "segmentation")

    in_epochs = ("warm_up", "revision_epochs")

    revision_epochs: int | None = None
    revision_rate: float = 5e-7

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.revision_epochs is not None and self.revision_epochs < 1:
            raise ValueError(f"revision_epochs must be at least 1, or None, got {self.revision_epochs!r}")
        if not self.revision_rate > 0:
            raise ValueError(f"revision_rate must be positive, got {self.revision_rate!r}")

    def loss(self) -> Loss:
        return Reweight(attached=True)

    def learner(self, plan: Blueprint) -> Learner:
        return corrected(plan, self.given(plan), self.loss(), revise=True)

    def learn(self, run: Run) -> Learned:
        start, transition = self.warm(run)
        weighted = run.build("2-reweight", lambda plan: corrected(plan, transition, Reweight()))
        if start is not None:
            take_up(weighted[0], start)
        second = run.fit("2-reweight", weighted).peers[0]
        last = run.build("3-revision", lambda plan: corrected(plan, transition, self.loss(), revise=True))
        take_up(last[0], second)
        epochs = self.revision_epochs or run.job.config.epochs
        config = replace(
            run.job.config, epochs=epochs, optimizer="adam", learning_rate=self.revision_rate, schedule="constant"
        )
        fitted = run.fit("3-revision", last, config=config)
        return Learned(fitted.peers[0], fitted.history)


def corrected(plan: Blueprint, transition: Tensor, loss: Loss, *, revise: bool = False) -> Classifier:
    """A network whose class head is seen through a transition."""
    network = plan.network()
    return Classifier(network, Transition(network.features, plan.classes, transition, revise=revise), loss)


def take_up(learner: Learner, start: Learner) -> None:
    """Begin with the weights of an earlier stage wherever both have them; the transition is the learner's own."""
    known = {name: value for name, value in start.state_dict().items() if name != "noise.transition"}
    learner.load_state_dict({**learner.state_dict(), **known})
