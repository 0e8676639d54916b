"""Majority vote, then a network on the consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from truelabel.annotations import Annotations
from truelabel.fusion import Fused, majority_vote
from truelabel.fusion.majority import Ties
from truelabel.methods.fused import FusionMethod


@dataclass(frozen=True, kw_only=True)
class MajorityVote(FusionMethod):
    """Fuse first: the class that most annotators named becomes the one label of an example.

    Attributes:
        ties: "random", drawn from the seed of the run, or the "lowest" class.
    """

    name = "majority-vote"
    summary = "the class that most annotators named, then cross entropy"
    paper = "baseline"
    judges = False

    ties: Ties = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties not in get_args(Ties):
            raise ValueError(f"ties must be one of {', '.join(get_args(Ties))}, got {self.ties!r}")

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        return majority_vote(annotations, ties=self.ties, seed=seed)
