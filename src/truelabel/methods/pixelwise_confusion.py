"""A confusion matrix for each reader at each pixel, from a second network (Zhang 2020)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor

from truelabel.checks import check_amount, check_between, check_whole
from truelabel.learners import Classifier, Learner
from truelabel.losses import CrossEntropy
from truelabel.methods.method import Learned, Method
from truelabel.networks.trunk import Trunk
from truelabel.noise import InstanceConfusion
from truelabel.training import Blueprint, Run, mean_matrices

Encoder = Literal["shared", "separate"]

WARM_UP_TRACE = -1.0
"""Weight of the trace in the warm-up, which is negative: matrices are driven to the identity."""


@dataclass(frozen=True, kw_only=True)
class PixelwiseConfusion(Method):
    r"""Segmentation and readers at once: :math:`-\sum_r \log (p_u^\top T^{(r)}_u)_{\tilde y^{(r)}_u}`, and the traces.

    Attributes:
        trace: λ, weight of the trace, summed over the readers of an image and averaged over images and pixels.
        warm_up: steps, at most as many as those of the training, in which the trace is maximised before it is
            minimised: while matrices are the identity, the network learns what readers have in common. Without that
            nothing tells their mistakes from the truth.
        encoder: whether matrices are read off the features of the segmentation, "shared", or off those of a network of
            the same kind that is all their own, "separate".
        blocks: of convolutions between those features and the matrices; 0 reads them off linearly.
        start: value on the diagonals before training.
    """

    name = "pixelwise-confusion"
    summary = "a confusion matrix for each reader at each pixel, learned along, with a trace penalty"
    paper = "Zhang 2020"
    tasks = ("segmentation",)
    grid: ClassVar[Mapping[str, tuple[float, ...]]] = {"trace": (0.0, 0.001, 0.01, 0.1, 0.4, 0.7, 0.9)}
    search_score = "likelihood"

    trace: float = 0.001
    warm_up: int = 1000
    encoder: Encoder = "shared"
    blocks: int = 0
    start: float = 0.956

    def __post_init__(self) -> None:
        check_amount("trace", self.trace)
        check_whole("warm_up", self.warm_up, least=0)
        check_whole("blocks", self.blocks, least=0)
        if self.encoder not in get_args(Encoder):
            raise ValueError(f"encoder must be one of {', '.join(get_args(Encoder))}, got {self.encoder!r}")
        check_between("start", self.start)

    def learner(self, plan: Blueprint) -> Learner:
        return self._learner(plan, self.trace)

    def learn(self, run: Run) -> Learned:
        peers = run.build("main", self.learner)
        if self.warm_up:
            given, examples = run.job.config, len(run.split.train)
            steps = examples // min(given.batch_size, examples)
            epochs = min(given.epochs, math.ceil(self.warm_up / steps))
            config = replace(given, epochs=epochs, patience=None, select="last", schedule="constant")
            warm = run.build("1-warm-up", lambda plan: self._learner(plan, WARM_UP_TRACE))
            peers[0].load_state_dict(run.fit("1-warm-up", warm, config=config).peers[0].state_dict())
        fitted = run.fit("main", peers)

        def confusion() -> dict[str, Tensor]:
            # What nobody labelled, such as the padding of images of different sizes, says nothing about anybody.
            counted, patch = torch.from_numpy(run.annotations.units()), run.job.config.patch
            matrices = mean_matrices(fitted.peers[0], run.inputs, run.plan.annotators, patch=patch, counted=counted)
            return {"confusion": matrices}

        return Learned(fitted.peers[0], fitted.history, confusion=run.once("confusion", confusion)["confusion"])

    def rank_of(self, classes: int) -> int | None:
        """Of the matrices; None if they are full."""
        return None

    def _learner(self, plan: Blueprint, trace: float) -> Learner:
        network = plan.network()
        encoder = plan.network() if self.encoder == "separate" else None
        dims = len(plan.shape) - 1
        trunk = Trunk((encoder or network).features, self.blocks, dims) if self.blocks else None
        noise = InstanceConfusion(
            network.features,
            plan.classes,
            plan.annotators,
            trace=trace,
            rank=self.rank_of(plan.classes),
            trunk=trunk,
            encoder=encoder,
            start=self.start,
        )
        return Classifier(network, noise, CrossEntropy())


@dataclass(frozen=True, kw_only=True)
class PixelwiseConfusionLowRank(PixelwiseConfusion):
    """The same with low-rank matrices: for each class how often it is recognised, and a few typical mistakes.

    Attributes:
        rank: how many typical mistakes.
    """

    name = "pixelwise-confusion-low-rank"
    summary = "pixelwise confusion with low-rank matrices, for many classes"

    rank: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("rank", self.rank)

    def rank_of(self, classes: int) -> int | None:
        return self.rank
