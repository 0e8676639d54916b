"""The learner that most methods use: a network, a noise model on its features, a loss."""

from __future__ import annotations

import torch
from torch import Tensor

from truelabel.learners.learner import Learner, ParameterGroups
from truelabel.losses import Loss
from truelabel.networks import Network
from truelabel.noise import NoiseModel
from truelabel.types import MISSING, Batch, Categorical, Prediction, Step, Uncertainty, over_slots


class Classifier(Learner):
    r"""Network, noise model and loss in one module, for examples and for pixels alike.

    .. math:: \ell_n = \frac{1}{|U|} \sum_{u} \sum_{s : \tilde y_{ns} \text{ given}} w_{ns}\, \ell(\tilde y_{nus})

    Args:
        network: ``inputs (N, ...) -> features (*U, F)``.
        noise: ``(inputs, features, annotators) -> Prediction``.
        loss: ``(Prediction, Batch) -> (*U, S)``.

    Example:
        >>> import torch
        >>> from truelabel.losses import CrossEntropy
        >>> from truelabel.networks import MLP
        >>> from truelabel.noise import NoNoise
        >>> learner = Classifier(MLP(4, width=16), NoNoise(16, classes=3), CrossEntropy())
        >>> learner.predict(torch.zeros(2, 4)).clean.shape
        torch.Size([2, 3])
    """

    def __init__(self, network: Network, noise: NoiseModel, loss: Loss) -> None:
        super().__init__()
        self.network = network
        self.noise = noise
        self.loss = loss
        self.chosen_by = noise.chosen_by

    def forward(self, batch: Batch) -> Step:
        prediction = self.noise(batch.inputs, self.network(batch.inputs), batch.annotators)
        return reduce_slots(self.loss(prediction, batch), prediction, batch)

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        if annotators is None:
            annotators = _nobody(inputs)
        return self.noise(inputs, self.network(inputs), annotators)

    @torch.no_grad()
    def uncertainty(self, inputs: Tensor) -> Uncertainty:
        """The spread that the noise model has; without one, there is only the clean answer."""
        features = self.network(inputs)
        own = self.noise.uncertainty(features)
        return Uncertainty.of_answer(self.noise(inputs, features, _nobody(inputs)).clean.exp()) if own is None else own

    def parameter_groups(self) -> ParameterGroups:
        noise = [p for p in self.noise.noise_parameters() if p.requires_grad]
        apart = {id(p) for p in noise}
        network = [p for p in self.parameters() if p.requires_grad and id(p) not in apart]
        return ParameterGroups(network, noise, self.noise.noise_reach())

    def annotator_confusion(self) -> Tensor | None:
        return self.noise.annotator_confusion()

    def matrices_at(self, inputs: Tensor, annotators: Tensor) -> Tensor | None:
        return self.noise.matrices_at(inputs, self.network(inputs), annotators)


def reduce_slots(values: Tensor, prediction: Prediction, batch: Batch) -> Step:
    """Losses per example from losses per slot: weighted sum over labels given, mean over units.

    Args:
        values: ``(*U, S)``, what the loss gave.
        prediction: for the penalty and the predicted class.
        batch: for what is missing and for the weights.
    """
    losses = over_slots(values, batch)
    surprise = losses.detach()
    if not prediction.noisy.normalised:
        clean = Categorical(prediction.clean.detach().unsqueeze(-2))
        surprise = over_slots(-clean.at(batch.labels), batch)
    return Step(losses, prediction.penalty, prediction.clean.argmax(-1), surprise)


def _nobody(inputs: Tensor) -> Tensor:
    return torch.full((len(inputs), 1), MISSING, dtype=torch.long, device=inputs.device)
