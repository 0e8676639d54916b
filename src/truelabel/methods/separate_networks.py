"""A network for each annotator; the answer is their mean."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from truelabel.learners import Learner, SeparateNetworks
from truelabel.methods.method import Method
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class SeparateNetworksMethod(Method):
    """Each annotator is learned by a network that sees no other labels; the answer is the mean of all."""

    name = "separate-networks"
    summary = "a network for each annotator, then the mean of their answers"
    paper = "Zhang 2020"
    tasks = ("classification", "segmentation")

    def learner(self, plan: Blueprint) -> Learner:
        workload = None if plan.workload is None else torch.from_numpy(plan.workload)
        return SeparateNetworks([plan.network() for _ in range(plan.annotators)], plan.classes, workload=workload)
