"""The alphabet of the library: one convention for shapes, and the values that travel between its parts.

=======  =====================================================================================
letter   meaning
=======  =====================================================================================
``N``    examples in a batch or a data set
``*U``   units, what gets a class: ``(N,)`` in classification, ``(N, H, W)`` in segmentation
``S``    slots: labels that an example received, padded to the most in the data set
``R``    annotators in all; ``K`` classes; ``F`` features; ``M`` peers trained together
=======  =====================================================================================

The class axis is last. A transition is ``T[..., true, observed]`` and its rows sum to one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import torch
from torch import Tensor

MISSING = -1
"""The integer that stands for "no label" in matrices, masks and padded slots."""


ChosenBy = Literal["accuracy", "loss"]
"""What the best epoch is chosen by, on held-out noisy labels."""


class Batch(NamedTuple):
    """What one training step sees.

    Attributes:
        inputs: ``(N, ...)``.
        labels: ``(*U, S)`` integers. They define what is missing (``-1``) and are never overwritten.
        annotators: ``(N, S)`` integers, ``-1`` in empty slots.
        weights: ``(N, S)``, how much each label counts.
        soft: ``(*U, S, K)`` targets that replace the hard labels where these are given, or None.
        index: ``(N,)`` positions in the data set.
    """

    inputs: Tensor
    labels: Tensor
    annotators: Tensor
    weights: Tensor
    soft: Tensor | None
    index: Tensor  # type: ignore[assignment]  # hides tuple.index, which nobody calls on a batch


class Likelihood(ABC):
    r"""What was observed, given the input: :math:`\log p(\tilde y \mid x)` for each slot, computed on demand.

    A model that is cheaper when the label is known overrides :meth:`at`; otherwise it gathers from :meth:`all`.

    Attributes:
        normalised: False for a density over a continuous relaxation, whose values are not probabilities.
    """

    normalised: bool = True

    @abstractmethod
    def all(self) -> Tensor:
        """Log likelihood of every class: ``(*U, S, K)``, or ``(*U, 1, K)`` if all annotators share it."""

    def at(self, labels: Tensor) -> Tensor:
        """Log likelihood of ``labels (*U, S)``: ``(*U, S)``. Empty slots get a finite, meaningless value."""
        values = self.all()
        values = values.expand(*labels.shape, values.shape[-1])
        return values.gather(-1, labels.clamp_min(0).unsqueeze(-1)).squeeze(-1)


class Categorical(Likelihood):
    """The likelihood that is simply a table of log probabilities.

    Args:
        log_probs: ``(*U, S, K)``, or ``(*U, 1, K)`` if all annotators share it.

    Example:
        >>> import torch
        >>> likelihood = Categorical(torch.tensor([[[0.25, 0.75]]]).log())
        >>> likelihood.at(torch.tensor([[1, 0]])).exp()
        tensor([[0.7500, 0.2500]])
    """

    def __init__(self, log_probs: Tensor) -> None:
        self.log_probs = log_probs

    def all(self) -> Tensor:
        return self.log_probs


class Prediction(NamedTuple):
    """What a model believes; it stays inside the learner.

    Attributes:
        clean: ``(*U, K)``, log p(y|x), the answer that the user wants.
        noisy: the likelihood of what annotators said.
        penalty: ``()``, a regulariser of the noise model, zero without one. Read it after the loss: a model may find
            it along with the likelihood of the labels.
    """

    clean: Tensor
    noisy: Likelihood
    penalty: Tensor


class Uncertainty(NamedTuple):
    r"""How sure a model is of what it says about new inputs.

    The variance is that of a vector of class probabilities. A model with a spread of its own draws many such vectors
    for one input. Any other model has only its answer, from which classes can be drawn, vectors that are one-hot: the
    variance is then :math:`p (1 - p)`, the largest that the mean :math:`p` allows, and tells no more than ``probs``.
    Compare variances of the same kind only.

    Attributes:
        probs: ``(*U, K)``, mean of the vectors.
        variance: ``(*U, K)``, their variance, class by class.
        entropy: ``(*U)``, of ``probs``, in nats.
        sampled: True if the vectors are draws of the model, False if they are classes drawn from its answer.

    Example:
        >>> import torch
        >>> Uncertainty.of_answer(torch.tensor([[0.5, 0.5], [1.0, 0.0]]))
        Uncertainty(probs=tensor([[0.5000, 0.5000],
                                  [1.0000, 0.0000]]),
                    variance=tensor([[0.2500, 0.2500],
                                     [0.0000, 0.0000]]),
                    entropy=tensor([0.6931, 0.0000]), sampled=False)
    """

    probs: Tensor
    variance: Tensor
    entropy: Tensor
    sampled: bool

    @classmethod
    def of_draws(cls, probs: Tensor, variance: Tensor) -> Uncertainty:
        """Of a model that draws vectors with this mean and variance, ``(*U, K)`` each."""
        return cls(probs, variance, _entropy(probs), True)

    @classmethod
    def of_answer(cls, probs: Tensor) -> Uncertainty:
        """Of a model without a spread of its own, whose answer is ``probs (*U, K)``."""
        return cls(probs, (probs * (1 - probs)).clamp_min(0), _entropy(probs), False)


def _entropy(probs: Tensor) -> Tensor:
    # Rounding may put a probability just above one.
    entropy: Tensor = torch.special.entr(probs).sum(-1)
    return entropy.clamp_min(0)


class Step(NamedTuple):
    """What a learner gives back to the training loop: tensors only.

    Attributes:
        losses: ``(N,)``, weighted sum over slots and mean over units. An unlabelled example has zero.
        penalty: ``()``, counted whatever a selector decides.
        predicted: ``(*U)``, the most probable clean class.
        surprise: ``(N,)``, detached, how little the labels were expected, which selectors compare examples by. It is
            the loss, unless that is one of a density, whose scale differs from input to input.
    """

    losses: Tensor
    penalty: Tensor
    predicted: Tensor
    surprise: Tensor


def label_weight(batch: Batch) -> Tensor:
    """How much of an example is labelled: summed weight of the labels given, mean over units.

    Args:
        batch: N examples.

    Returns:
        ``(N,)``, zero without labels.

    Example:
        >>> import torch
        >>> labels = torch.tensor([[3, 1], [2, -1], [-1, -1]])
        >>> label_weight(Batch(labels, labels, labels, torch.ones(3, 2), None, torch.arange(3)))
        tensor([2., 1., 0.])
    """
    return over_slots(batch.weights.new_ones(()).expand(batch.labels.shape), batch)


def over_slots(values: Tensor, batch: Batch) -> Tensor:
    """Weighted sum over the labels given, mean over units: ``(*U, S) -> (N,)``.

    Example:
        >>> import torch
        >>> labels = torch.tensor([[3, 1], [2, -1]])
        >>> batch = Batch(labels, labels, labels, torch.ones(2, 2), None, torch.arange(2))
        >>> over_slots(torch.tensor([[1.0, 2.0], [4.0, 8.0]]), batch)
        tensor([3., 4.])
    """
    n, slots = batch.weights.shape
    spread = batch.weights.view(n, *[1] * (values.dim() - 2), slots)
    given = torch.where(batch.labels >= 0, spread * values, 0.0)
    given = given.squeeze(-1) if slots == 1 else given.sum(-1)
    return given if given.dim() == 1 else given.reshape(n, -1).mean(1)


def mix(log_probs: Tensor, transition: Tensor) -> Tensor:
    r"""The one equation: :math:`\log p(\tilde y) = \log \sum_y p(y)\, T[y, \tilde y]`, in log space.

    Args:
        log_probs: ``(..., K)``, log p(y|x).
        transition: ``(..., K, K)``, ``T[true, observed]`` with rows that sum to one; broadcast against ``log_probs``.

    Returns:
        ``(..., K)``, log p(ỹ|x), exact however small; minus infinity where no class leads to ỹ at all.

    Example:
        >>> import torch
        >>> T = torch.tensor([[0.9, 0.1], [0.2, 0.8]])
        >>> mix(torch.tensor([0.0, -1e4]), T).exp()
        tensor([0.9000, 0.1000])
    """
    return (log_probs.unsqueeze(-1) + transition.log()).logsumexp(-2)
