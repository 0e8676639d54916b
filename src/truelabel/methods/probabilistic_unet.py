"""The probabilistic U-Net: masks drawn from a latent variable (Kohl 2018)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from truelabel.checks import check_amount, check_whole
from truelabel.learners import Learner, ProbabilisticUNet
from truelabel.learners.probabilistic_unet import Masks
from truelabel.methods.method import Method
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class ProbabilisticUNetMethod(Method):
    """A distribution over whole masks, from which new ones can be drawn; readers are not told apart.

    Attributes:
        latent: dimension of the latent variable.
        beta: weight of the divergence of posterior from prior.
        samples: draws whose mean is the answer.
        masks: learn from "one" mask of an image a step, drawn at random, or from "all".
    """

    name = "probabilistic-unet"
    summary = "a latent variable from which whole masks are drawn"
    paper = "Kohl 2018"
    tasks = ("segmentation",)

    latent: int = 6
    beta: float = 1.0
    samples: int = 16
    masks: Masks = "one"

    def __post_init__(self) -> None:
        check_whole("latent", self.latent)
        check_amount("beta", self.beta)
        check_whole("samples", self.samples)
        if self.masks not in get_args(Masks):
            raise ValueError(f"masks must be one of {', '.join(get_args(Masks))}, got {self.masks!r}")

    def learner(self, plan: Blueprint) -> Learner:
        return ProbabilisticUNet(
            plan.network(),
            plan.classes,
            plan.shape,
            self.latent,
            beta=self.beta,
            samples=self.samples,
            masks=self.masks,
        )
