"""CausalNL."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from truelabel.learners import CausalNL, ElboWeights, Learner
from truelabel.learners.causal_nl import Reconstruction, Relaxation
from truelabel.methods.peers import Taught
from truelabel.training import Blueprint


@dataclass(frozen=True, kw_only=True)
class CausalNLMethod(Taught):
    """A generative model of input and label, in two branches that teach each other by small losses (Yao 2021).

    Attributes:
        latent: dimension of z, what an input is besides its class.
        teaching_weight: of the cross entropy on the labels that the other branch selects.
        reconstruction_weight: β0.
        label_weight: β1, of the labels' likelihood given class and reconstruction.
        entropy_weight: β2, for a uniform prior of the class.
        latent_weight: β3, of the divergence of z from its prior.
        reconstruction: "absolute" or "squared" error.
        relaxation: how the class is passed on: a "soft" Gumbel-softmax draw, "straight-through", or "exact".
        temperature: of the Gumbel-softmax.
        labels_first: share of the training in which only labels, not the bound, move the classifier.
    """

    name = "causal-nl"
    summary = "a generative model of input and label, in two branches"
    paper = "Yao 2021"

    latent: int = 25
    teaching_weight: float = 1.0
    reconstruction_weight: float = 0.1
    label_weight: float = 0.1
    entropy_weight: float = 1e-5
    latent_weight: float = 0.01
    reconstruction: Reconstruction = "absolute"
    relaxation: Relaxation = "soft"
    temperature: float = 1.0
    labels_first: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.weights()
        if self.latent < 1 or self.latent != int(self.latent):
            raise ValueError(f"latent must be a whole number of at least 1, got {self.latent!r}")
        object.__setattr__(self, "latent", int(self.latent))
        for name, kind in (("reconstruction", Reconstruction), ("relaxation", Relaxation)):
            if getattr(self, name) not in get_args(kind):
                raise ValueError(f"{name} must be one of {', '.join(get_args(kind))}, got {getattr(self, name)!r}")
        if not self.temperature > 0:
            raise ValueError(f"temperature must be positive, got {self.temperature!r}")
        if not 0 <= self.labels_first <= 1:
            raise ValueError(f"labels_first must be a share of the training in [0, 1], got {self.labels_first!r}")

    def weights(self) -> ElboWeights:
        """Of the terms."""
        return ElboWeights(
            teaching=self.teaching_weight,
            reconstruction=self.reconstruction_weight,
            labels=self.label_weight,
            entropy=self.entropy_weight,
            latent=self.latent_weight,
        )

    def learner(self, plan: Blueprint) -> Learner:
        return CausalNL(
            plan.network(),
            plan.classes,
            plan.shape,
            self.latent,
            weights=self.weights(),
            reconstruction=self.reconstruction,
            relaxation=self.relaxation,
            temperature=self.temperature,
            labels_first=self.labels_first,
        )
