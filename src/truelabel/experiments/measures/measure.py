"""The contract of a measure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from torch import Tensor

from truelabel.experiments.scene import Scene
from truelabel.learners import Learner
from truelabel.methods import Learned
from truelabel.training import clean_probs


@dataclass(frozen=True, eq=False)
class Outcome:
    """A learner, during or after its training, and what it was trained on.

    Attributes:
        scene: data, labels and truth.
        learner: in evaluation mode.
        learned: what the method left behind; None while it trains.
    """

    scene: Scene
    learner: Learner
    learned: Learned | None = None

    @cached_property
    def test_probs(self) -> Tensor:
        """Clean class probabilities of the test examples, ``(N, *space, K)`` on the CPU; computed once for all."""
        return clean_probs(self.learner, self.scene.test_inputs, chunk=5000)


Measure = Callable[[Outcome], Mapping[str, Any]]
"""Scores by name: numbers, or lists of numbers for histograms and matrices. An empty mapping: nothing to measure."""
