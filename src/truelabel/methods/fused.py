"""Fuse first, then train: one consensus label an example, or its probabilities."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.fusion import Fused
from truelabel.learners import Learner
from truelabel.methods.method import Learned, Method
from truelabel.methods.one_stage import ONE_STAGE, check_base
from truelabel.training import Blueprint, Run
from truelabel.types import MISSING


@dataclass(frozen=True, kw_only=True)
class FusionMethod(Method):
    """A fusion without a network, and a network that learns its consensus.

    Attributes:
        base: the method, one of a single stage, whose learner learns the consensus.
        soft: learn the posterior of the fusion as a soft target, instead of its most probable class.
    """

    base: str = "cross-entropy"
    soft: bool = False

    def __post_init__(self) -> None:
        check_base(self.base)
        if not isinstance(self.soft, bool):
            raise ValueError(f"soft must be true or false, got {self.soft!r}")

    @abstractmethod
    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        """One answer from many."""

    def learner(self, plan: Blueprint) -> Learner:
        return ONE_STAGE[self.base].learner(plan.of_one_annotator())

    def learn(self, run: Run) -> Learned:
        def fuse() -> dict[str, Tensor]:
            fused = self.fuse(run.annotations, run.job.seed)
            # A mere vote knows annotators less well than the network that has learned from it.
            names = ["labels", "posterior"] + ["confusion"] * (fused.evidence is not None)
            return {name: torch.from_numpy(getattr(fused, name)) for name in names}

        fused = run.once("fused", fuse)
        consensus = consensus_of(run.annotations, fused["labels"])
        soft = fused["posterior"][consensus.example].float() if self.soft else None
        fitted = run.fit("main", run.build("main", self.learner), annotations=consensus, soft=soft)
        return Learned(fitted.peers[0], fitted.history, confusion=fused.get("confusion"))


def consensus_of(annotations: Annotations, labels: Tensor) -> Annotations:
    """One label an example, ``labels (N,)``; what nobody labelled has a posterior, but nothing to learn from."""
    spoken = np.where(annotations.counts > 0, labels.numpy(), MISSING)
    matrix = Annotations.from_matrix(spoken[:, None], classes=len(annotations.classes))
    return replace(matrix, classes=annotations.classes)
