"""Cross entropy on the labels as they were given."""

from __future__ import annotations

from dataclasses import dataclass

from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy, Loss
from truelabel.methods.method import Method
from truelabel.noise import NoNoise
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class CrossEntropyMethod(Method):
    r"""Every label given is taken for true: minimise :math:`-\sum_s \log p(\tilde y_s \mid x)`.

    With several annotators an example is learned once for each label it got, so disagreement becomes a soft target.
    """

    name = "cross-entropy"
    summary = "every label is taken for true"
    paper = "baseline"
    tasks = ("classification", "segmentation")

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)


def plain_classifier(plan: Blueprint, loss: Loss | None = None) -> Classifier:
    """A network with a class head and cross entropy or another loss, without a model of the noise."""
    network = plan.network()
    return Classifier(network, NoNoise(network.features, plan.classes), loss or CrossEntropy())
