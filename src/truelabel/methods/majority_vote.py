"""Majority vote, then a network on the consensus."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from truelabel.annotations import Annotations
from truelabel.fusion import Fused, fuse_images, majority_vote, vote_masks
from truelabel.fusion.majority import Ties
from truelabel.methods.fused import FusionMethod


@dataclass(frozen=True, kw_only=True)
class MajorityVote(FusionMethod):
    """Fuse first: the class that most annotators named becomes the one label of an example, or of a pixel.

    Attributes:
        ties: "random", drawn from the seed of the run, or the "lowest" class; always the lowest for pixels.
    """

    name = "majority-vote"
    summary = "the class that most annotators named, then cross entropy"
    paper = "baseline"
    tasks = ("classification", "segmentation")
    judges = False

    ties: Ties = "random"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ties not in get_args(Ties):
            raise ValueError(f"ties must be one of {', '.join(get_args(Ties))}, got {self.ties!r}")

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        if annotations.space:
            return fuse_images(annotations, vote_masks)
        return majority_vote(annotations, ties=self.ties, seed=seed)
