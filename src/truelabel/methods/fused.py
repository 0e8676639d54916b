"""Fuse first, then train: one consensus label an example, or its probabilities."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from truelabel.annotations import Annotations
from truelabel.checks import check_flag
from truelabel.fusion import Fused, confusion_from_posterior
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

    judges: ClassVar[bool] = True
    """Whether the fusion itself judges annotators; a mere vote knows them less well than what has learned from it."""

    base: str = "cross-entropy"
    soft: bool = False

    def __post_init__(self) -> None:
        check_base(self.base)
        check_flag("soft", self.soft)

    @abstractmethod
    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        """One answer from many."""

    def learner(self, plan: Blueprint) -> Learner:
        return ONE_STAGE[self.base].learner(plan.of_one_annotator())

    def learn(self, run: Run) -> Learned:
        def fuse() -> dict[str, Tensor]:
            fused = self.fuse(run.annotations, run.job.seed)
            return {name: torch.from_numpy(getattr(fused, name)) for name in ("labels", "posterior", "confusion")}

        fused = run.once("fused", fuse)
        consensus = consensus_of(run.annotations, fused["labels"])
        soft = fused["posterior"][consensus.example.tolist()].float() if self.soft else None
        fitted = run.fit("main", run.build("main", self.learner), annotations=consensus, soft=soft)
        confusion = fused["confusion"]
        if not self.judges:
            posterior = run.posterior(fitted.peers[0]).double().numpy()
            confusion = torch.from_numpy(confusion_from_posterior(run.annotations, posterior))
        return Learned(fitted.peers[0], fitted.history, confusion=confusion)


def consensus_of(annotations: Annotations, labels: Tensor) -> Annotations:
    """One label an example, ``labels (N, *space)``; what nobody labelled has a posterior, but nothing to learn from."""
    read = annotations.from_masks if annotations.space else annotations.from_matrix
    labelled = (annotations.counts > 0).reshape(-1, *[1] * len(annotations.space))
    spoken = np.where(labelled, labels.numpy(), MISSING)
    return replace(read(spoken[:, None], classes=len(annotations.classes)), classes=annotations.classes)
