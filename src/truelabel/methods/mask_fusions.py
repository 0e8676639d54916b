"""Fusions of masks, image by image, then a network on the consensus."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from truelabel.annotations import Annotations
from truelabel.checks import check_amount, check_flag, check_whole
from truelabel.fusion import Fused, fuse_images, majority_vote, spatial_staple, staple, vote_masks
from truelabel.methods.fused import FusionMethod


@dataclass(frozen=True, kw_only=True)
class MeanLabel(FusionMethod):
    """Learn the share of readers who named a class, at each pixel or for each example, as a soft target."""

    name = "mean-label"
    summary = "the share of readers who named each class, as a soft target of cross entropy"
    paper = "baseline"
    tasks = ("classification", "segmentation")
    judges = False

    soft: bool = True

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        return fuse_images(annotations, vote_masks) if annotations.space else majority_vote(annotations, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Staple(FusionMethod):
    """Fuse first: a confusion matrix for each reader and image, by EM over its pixels (Warfield 2004).

    Attributes:
        disputed_only: judge readers where they differ only, so that much plain background does not make all perfect.
    """

    name = "staple"
    summary = "masks fused with a confusion matrix for each reader and image, then cross entropy"
    paper = "Warfield 2004"
    tasks = ("segmentation",)

    disputed_only: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        check_flag("disputed_only", self.disputed_only)

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        return fuse_images(annotations, partial(staple, disputed_only=self.disputed_only))


@dataclass(frozen=True, kw_only=True)
class SpatialStaple(FusionMethod):
    """Fuse first: a confusion matrix for each reader, image and neighbourhood, by EM (Asman & Landman 2012).

    Attributes:
        window: side of the neighbourhood in pixels; by the size of the image if None.
        anchor: how much the matrices of the whole image count, relative to the pixels of the neighbourhood.
    """

    name = "spatial-staple"
    summary = "masks fused with a confusion matrix for each reader and neighbourhood, then cross entropy"
    paper = "Asman & Landman 2012"
    tasks = ("segmentation",)

    window: int | None = None
    anchor: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.window is not None:
            check_whole("window", self.window)
            if self.window % 2 == 0:
                raise ValueError(f"window must be odd, so that it has a middle, got {self.window}")
        check_amount("anchor", self.anchor)
        if not self.anchor:
            raise ValueError("anchor must be above 0: without one regions can flip to the background")

    def fuse(self, annotations: Annotations, seed: int) -> Fused:
        return fuse_images(annotations, partial(spatial_staple, window=self.window, anchor=self.anchor))
