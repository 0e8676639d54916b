"""The contract of a learner."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor, nn

from truelabel.types import Batch, ChosenBy, Prediction, Step, Uncertainty


class ParameterGroups(NamedTuple):
    """Trainable parameters by how they are optimised.

    Attributes:
        network: the learning rate and weight decay of the training.
        noise: no weight decay, and the noise learning rate if one is set.
        noise_reach: how far a noise parameter should be able to travel in a training; None for the network's rate.
    """

    network: list[nn.Parameter]
    noise: list[nn.Parameter]
    noise_reach: float | None = None


class Learner(nn.Module, ABC):
    """A module that turns a batch into losses, and inputs into beliefs.

    ``forward(Batch) -> Step`` is what the training loop calls; every trainable parameter gets a gradient in every step.
    ``predict(inputs, annotators) -> Prediction`` is what users get; its ``noisy`` is what ``annotators (N, S)`` would
    say, or somebody if None. ``uncertainty(inputs)`` says how sure that is. Losses are per example; only the loop
    reduces them.

    Attributes:
        progress: ``()``, the share of all optimiser steps already taken, in [0, 1), which the loop fills in place; None
            outside a training.
        chosen_by: what the best epoch is chosen by, on held-out noisy labels: "accuracy", or the "loss" for a learner
            that knows how annotators err. Its most probable class is right long before its confusion matrices are.
    """

    progress: Tensor | None = None
    chosen_by: ChosenBy = "accuracy"

    @abstractmethod
    def forward(self, batch: Batch) -> Step: ...

    @abstractmethod
    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction: ...

    def __call__(self, batch: Batch) -> Step:
        step: Step = super().__call__(batch)
        return step

    @torch.no_grad()
    def uncertainty(self, inputs: Tensor) -> Uncertainty:
        """How sure the learner is of every unit of ``inputs (N, ...)``; in evaluation mode, like ``predict``.

        By default a learner has no spread of its own, only its clean answer.
        """
        return Uncertainty.of_answer(self.predict(inputs).clean.exp())

    def parameter_groups(self) -> ParameterGroups:
        """All trainable parameters; those of the noise apart."""
        return ParameterGroups([p for p in self.parameters() if p.requires_grad], [])

    def annotator_confusion(self) -> Tensor | None:
        """The annotators' matrices ``(R, K, K)`` that were learned, or ``(1, K, K)`` for everybody; None if none."""
        return None

    def matrices_at(self, inputs: Tensor, annotators: Tensor) -> Tensor | None:
        """The matrices of ``annotators (N, S)`` at every unit, ``(*U, S, K, K)``; None if none were learned."""
        return None
