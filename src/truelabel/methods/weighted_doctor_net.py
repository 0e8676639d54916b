"""Weighted Doctor Net: a head for each annotator, then weights for their mean."""

from __future__ import annotations

from dataclasses import dataclass, replace

from truelabel.checks import check_whole
from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.methods.method import Learned, Method
from truelabel.noise import DoctorHeads
from truelabel.noise.doctor_heads import FEWEST
from truelabel.training import Blueprint, Run


@dataclass(frozen=True, kw_only=True)
class WeightedDoctorNet(Method):
    """Learn what each annotator would say, then whom to listen to (Guan 2018).

    The first stage trains network and heads, each head on its annotator's labels. The second trains only the weights of
    the mean; fewer than three annotators cannot judge each other, so that theirs stay even.

    Attributes:
        weight_epochs: of the second stage, at most those of the training.
    """

    name = "weighted-doctor-net"
    summary = "a class head for each annotator, then a weighted mean of their answers"
    paper = "Guan 2018"

    in_epochs = ("weight_epochs",)

    weight_epochs: int = 20

    def __post_init__(self) -> None:
        check_whole("weight_epochs", self.weight_epochs)

    def learner(self, plan: Blueprint) -> Learner:
        return doctors(plan, averaging=True)

    def learn(self, run: Run) -> Learned:
        heads = run.fit("1-heads", run.build("1-heads", doctors))
        if run.plan.annotators < FEWEST:
            return Learned(heads.peers[0], heads.history)
        peers = run.build("2-weights", self.learner)
        peers[0].load_state_dict(heads.peers[0].state_dict())
        config = replace(run.job.config, epochs=min(self.weight_epochs, run.job.config.epochs))
        fitted = run.fit("2-weights", peers, config=config)
        return Learned(fitted.peers[0], fitted.history)


class Weighting(Classifier):
    """Only the weights of the mean are trained; network and heads stay as they are, batch norm included."""

    def __init__(self, classifier: Classifier, noise: DoctorHeads) -> None:
        super().__init__(classifier.network, noise, classifier.loss)
        for parameter in (*self.network.parameters(), *noise.head.parameters()):
            parameter.requires_grad_(False)

    def train(self, mode: bool = True) -> Weighting:
        super().train(mode)
        self.network.eval()
        return self


def doctors(plan: Blueprint, *, averaging: bool = False) -> Classifier:
    """A network with a head for every annotator."""
    network = plan.network()
    noise = DoctorHeads(network.features, plan.classes, plan.annotators, averaging=averaging)
    learner = Classifier(network, noise, CrossEntropy())
    return Weighting(learner, noise) if noise.averaging else learner
