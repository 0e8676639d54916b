"""The contract of a noise model."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from truelabel.types import ChosenBy, Prediction, Uncertainty


class NoiseModel(nn.Module, ABC):
    """From features to what is true and what is said: ``(inputs, features, annotators) -> Prediction``.

    A noise model owns every head, the class head too, and may own a network on ``inputs``. It works on units: the same
    code serves ``features (N, F)`` and ``features (N, H, W, F)``. In evaluation mode it is deterministic and treats
    every example by itself; a model that samples uses one fixed set of draws.

    Attributes:
        chosen_by: what the best epoch is chosen by, see :class:`~truelabel.learners.Learner`.

    Args of ``forward``:
        inputs: ``(N, ...)``.
        features: ``(*U, F)``, what the network made of the inputs.
        annotators: ``(N, S)``, -1 in empty slots.

    Example:
        >>> import torch
        >>> from truelabel.noise import NoNoise
        >>> isinstance(NoNoise(features=4, classes=2), NoiseModel)
        True
    """

    chosen_by: ChosenBy = "accuracy"

    @abstractmethod
    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction: ...

    def __call__(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        prediction: Prediction = super().__call__(inputs, features, annotators)
        return prediction

    def noise_parameters(self) -> Iterable[nn.Parameter]:
        """Parameters of the noise rather than of the classifier: no weight decay, and a learning rate of their own."""
        return ()

    def noise_reach(self) -> float | None:
        """How far each of them should be able to travel in a training; None if they learn like the network.

        An adaptive optimiser moves a number by about its learning rate a step, whatever the gradient. The training
        loop raises the rate of noise parameters, unless one is set, so that all its steps together reach so far.
        """
        return None

    def uncertainty(self, features: Tensor) -> Uncertainty | None:
        """How the probabilities of ``features (*U, F)`` spread over fixed draws; None if the model draws nothing.

        The same in training and in evaluation mode, without gradient, every example by itself.
        """
        return None

    def annotator_confusion(self) -> Tensor | None:
        """The annotators' matrices ``(R, K, K)``, or ``(1, K, K)`` for everybody; None if the model has none."""
        return None

    def matrices_at(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Tensor | None:
        """The matrices of these annotators at every unit, ``(*U, S, K, K)``; None if the model has none.

        Args:
            inputs: as in ``forward``; the same for ``features``.
            features: ``(*U, F)``.
            annotators: ``(N, S)``, none of them missing.
        """
        matrices = self.annotator_confusion()
        if matrices is None:
            return None
        who = torch.zeros_like(annotators) if len(matrices) == 1 else annotators
        chosen, space = matrices[who], features.shape[1:-1]
        return chosen.view(len(chosen), *[1] * len(space), *chosen.shape[1:]).expand(-1, *space, *chosen.shape[1:])
