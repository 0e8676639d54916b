"""Expectation maximisation around a network: generalized EM and model bootstrapped EM."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from truelabel.checks import check_whole
from truelabel.fusion import confusion_from_posterior, majority_vote, posterior_given
from truelabel.fusion.kernels import Array
from truelabel.learners import Learner
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.fused import consensus_of
from truelabel.methods.method import Learned, Method
from truelabel.training import Blueprint, History, Run

Prior = Literal["even", "counted"]


@dataclass(frozen=True, kw_only=True)
class EMMethod(Method):
    """Rounds of training on soft targets, each followed by a new guess of the truth from labels and network.

    The first targets are the shares of votes. A round trains ``epochs / rounds`` epochs, from the weights of the one
    before; a schedule of the learning rate begins anew.

    Attributes:
        rounds: how often to train and guess.
        smoothing: pseudo-counts of the cells of the matrices. With 0, what an annotator never said of a class is
            impossible.
    """

    rounds: int = 5
    smoothing: float = 0.01

    def __post_init__(self) -> None:
        check_whole("rounds", self.rounds)
        if not 0 <= self.smoothing < math.inf:
            raise ValueError(f"smoothing must be at least 0, and finite, got {self.smoothing!r}")

    @abstractmethod
    def guess(self, run: Run, network: Array, targets: Array) -> tuple[Array, Array]:
        """New targets ``(N, K)`` and confusion ``(R, K, K)``, from what the network answers and the old targets."""

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)

    def learn(self, run: Run) -> Learned:
        targets = majority_vote(run.annotations).posterior.astype(np.float64, copy=False)
        epochs, peers = run.job.config.epochs, run.build("1-round", self.learner)
        history = History()
        for number in range(1, self.rounds + 1):
            share = epochs * number // self.rounds - epochs * (number - 1) // self.rounds
            config = replace(run.job.config, epochs=max(1, share))
            hard = consensus_of(run.annotations, torch.from_numpy(targets.argmax(-1)))
            soft = torch.from_numpy(targets[hard.example]).float()
            fitted = run.fit(f"{number}-round", peers, annotations=hard, soft=soft, config=config)
            history = fitted.history.after(history.rows)

            def guess(learner: Learner = fitted.peers[0], old: Array = targets) -> dict[str, Tensor]:
                new, confusion = self.guess(run, run.posterior(learner).double().numpy(), old)
                return {"targets": torch.from_numpy(new), "confusion": torch.from_numpy(confusion)}

            guessed = run.once(f"{number}-guess", guess)
            targets = guessed["targets"].numpy()
        return Learned(fitted.peers[0], history, confusion=guessed["confusion"])


@dataclass(frozen=True, kw_only=True)
class GeneralizedEM(EMMethod):
    r"""The network is the prior of the truth (Raykar 2009).

    .. math:: q_{nk} \propto p_\theta(k \mid x_n) \prod_r T^{(r)}[k, \tilde y^{(r)}_n], \qquad
              T^{(r)}[k, j] \propto \varepsilon + \sum_n q_{nk} 1[\tilde y^{(r)}_n = j]

    With one label an example the first targets are the labels themselves, so every matrix is the identity, but for
    :math:`\varepsilon`, and the next targets are nearly the labels again: it is stuck, as Tanno 2019 shows.
    """

    name = "generalized-em"
    summary = "expectation maximisation in which a network is the prior of the truth"
    paper = "Raykar 2009"

    def guess(self, run: Run, network: Array, targets: Array) -> tuple[Array, Array]:
        confusion = confusion_from_posterior(run.annotations, targets, self.smoothing)
        new = posterior_given(run.annotations, network, confusion)
        return new, confusion_from_posterior(run.annotations, new, self.smoothing)


@dataclass(frozen=True, kw_only=True)
class MBEM(EMMethod):
    r"""Annotators are judged by what the network predicts, c = argmax p_θ (model bootstrapped EM, Khetan 2018).

    .. math:: T^{(r)}[k, j] \propto \varepsilon + \sum_n 1[c_n = k, \tilde y^{(r)}_n = j], \qquad
              q_{nk} \propto \pi_k \prod_r T^{(r)}[k, \tilde y^{(r)}_n]

    Attributes:
        prior: π is "even", as in the published code, or "counted" from c, as in the paper's algorithm, which can lose
            classes for good.
    """

    name = "mbem"
    summary = "expectation maximisation in which annotators are judged by a network's predictions"
    paper = "Khetan 2018"

    prior: Prior = "even"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior not in get_args(Prior):
            raise ValueError(f"prior must be one of {', '.join(get_args(Prior))}, got {self.prior!r}")

    def guess(self, run: Run, network: Array, targets: Array) -> tuple[Array, Array]:
        classes = network.shape[-1]
        predicted = np.eye(classes)[network.argmax(-1)]
        confusion = confusion_from_posterior(run.annotations, predicted, self.smoothing)
        prior = np.full(classes, 1 / classes) if self.prior == "even" else predicted.mean(0)
        return posterior_given(run.annotations, prior, confusion), confusion
