"""Fusions that judge annotators by each other, then a network on the consensus."""

from __future__ import annotations

from dataclasses import dataclass

from truelabel.annotations import Annotations
from truelabel.checks import check_amount, check_whole
from truelabel.fusion import Fused, dawid_skene, glad, mace, one_coin
from truelabel.methods.fused import FusionMethod


@dataclass(frozen=True, kw_only=True)
class DawidSkene(FusionMethod):
    """Fuse first: a confusion matrix for each annotator, by EM (Dawid & Skene 1979).

    Attributes:
        smoothing: pseudo-count of every cell of the matrices.
    """

    name = "dawid-skene"
    summary = "labels fused with a confusion matrix for each annotator, then cross entropy"
    paper = "Dawid & Skene 1979"

    smoothing: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        check_amount("smoothing", self.smoothing)

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        return dawid_skene(annotations, smoothing=self.smoothing)


@dataclass(frozen=True, kw_only=True)
class OneCoin(FusionMethod):
    """Fuse first: one skill for each annotator, by EM.

    Attributes:
        smoothing: pseudo-count of every cell of the matrices.
    """

    name = "one-coin"
    summary = "labels fused with one skill for each annotator, then cross entropy"
    paper = "Li & Yu 2014"

    smoothing: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        check_amount("smoothing", self.smoothing)
        if not self.smoothing:
            raise ValueError("smoothing must be above 0: one-coin would be sure of an annotator who agrees with all")

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        return one_coin(annotations, smoothing=self.smoothing)


@dataclass(frozen=True, kw_only=True)
class Glad(FusionMethod):
    """Fuse first: an ability for each annotator and a difficulty for each example (Whitehill 2009)."""

    name = "glad"
    summary = "labels fused with abilities and difficulties, then cross entropy"
    paper = "Whitehill 2009"

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        return glad(annotations)


@dataclass(frozen=True, kw_only=True)
class Mace(FusionMethod):
    """Fuse first: annotators who know, or guess in a way of their own (Hovy 2013).

    Attributes:
        restarts: starts of the EM, drawn from the seed of the run; the best is kept.
    """

    name = "mace"
    summary = "labels fused with a share of guessing for each annotator, then cross entropy"
    paper = "Hovy 2013"

    restarts: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("restarts", self.restarts)

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        return mace(annotations, restarts=self.restarts, seed=seed)
