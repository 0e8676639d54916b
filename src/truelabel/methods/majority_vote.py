"""Majority vote, then cross entropy on the consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.fusion import majority_vote
from truelabel.fusion.majority import Ties
from truelabel.learners import Learner
from truelabel.methods.cross_entropy import plain_classifier
from truelabel.methods.method import Learned, Method
from truelabel.training import Blueprint, Run
from truelabel.types import MISSING


@dataclass(frozen=True, kw_only=True)
class MajorityVote(Method):
    """Fuse first: the class that most annotators named becomes the one label of an example.

    Attributes:
        ties: "random", drawn from the seed of the run, or the "lowest" class.
    """

    name = "majority-vote"
    summary = "the class that most annotators named, then cross entropy"
    paper = "baseline"

    ties: Ties = "random"

    def __post_init__(self) -> None:
        if self.ties not in get_args(Ties):
            raise ValueError(f"ties must be one of {', '.join(get_args(Ties))}, got {self.ties!r}")

    def learner(self, plan: Blueprint) -> Learner:
        return plain_classifier(plan)

    def learn(self, run: Run) -> Learned:
        def vote() -> dict[str, Tensor]:
            fused = majority_vote(run.annotations, ties=self.ties, seed=run.job.seed)
            # What nobody labelled has a posterior, but no vote to learn from.
            return {"labels": torch.from_numpy(np.where(run.annotations.counts > 0, fused.labels, MISSING))}

        voted = run.once("vote", vote)["labels"]
        consensus = Annotations.from_matrix(voted.numpy()[:, None], classes=run.plan.classes)
        fitted = run.fit("main", run.build("main", self.learner), annotations=consensus)
        return Learned(fitted.peers[0], fitted.history)
