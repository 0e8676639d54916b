"""A network for every annotator, each trained on its annotator's labels alone; the answer is their mean."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from truelabel.learners.classifier import reduce_slots
from truelabel.learners.learner import Learner
from truelabel.losses import CrossEntropy, Loss
from truelabel.networks import Network
from truelabel.noise.confusion_cells import over_units
from truelabel.precision import log_softmax
from truelabel.types import Batch, Categorical, Prediction, Step


class SeparateNetworks(Learner):
    r"""R networks with class heads, one for each annotator, for examples and for pixels alike.

    .. math:: p(\tilde y^{(r)} \mid x) = p_r(\tilde y^{(r)} \mid x), \qquad p(y \mid x) = \frac1R \sum_r p_r(y \mid x)

    A baseline of Zhang 2020. Nothing is shared: a network learns from the labels of its annotator and from no other.
    All R networks run on the whole batch, whoever labelled it, so that shapes are static; an annotator absent from a
    batch leaves a gradient of zero.

    Args:
        networks: R different modules, each ``inputs (N, ...) -> features (*U, F)``.
        classes: K.
        loss: of the labels, given what their annotator's network says; cross entropy by default.
        workload: ``(R,)``, labels of each annotator that are trained on. Who has none, or none but held-out ones, has a
            network that learned nothing, which is left out of the mean. By default all are in it.

    Reference: the row "Separate CNNs on annotators" of Table 1 of Zhang et al., NeurIPS 2020.

    Example:
        >>> from truelabel.networks import MLP
        >>> learner = SeparateNetworks([MLP(4, width=16) for _ in range(5)], classes=3)
        >>> learner.predict(torch.zeros(2, 4)).clean.shape, learner.each(torch.zeros(2, 4)).shape
        (torch.Size([2, 3]), torch.Size([2, 5, 3]))
    """

    taught: Tensor

    def __init__(
        self,
        networks: Sequence[Network],
        classes: int,
        loss: Loss | None = None,
        *,
        workload: Tensor | None = None,
    ) -> None:
        super().__init__()
        if not networks or len({id(network) for network in networks}) < len(networks):
            raise ValueError(f"networks must be different modules, one for each annotator, got {len(networks)}")
        self.networks = nn.ModuleList(networks)
        self.heads = nn.ModuleList(nn.Linear(network.features, classes) for network in networks)
        self.loss = loss or CrossEntropy()
        given = torch.ones(len(networks)) if workload is None else workload
        if given.shape != (len(networks),) or not (given > 0).any():
            raise ValueError(f"workload must be the labels of {len(networks)} annotators, got {given.tolist()}")
        self.register_buffer("taught", given > 0)

    def forward(self, batch: Batch) -> Step:
        prediction = self.predict(batch.inputs, batch.annotators)
        return reduce_slots(self.loss(prediction, batch), prediction, batch)

    def predict(self, inputs: Tensor, annotators: Tensor | None = None) -> Prediction:
        """The mean of all networks, and what the networks of ``annotators (N, S)`` say; of all R in order if None."""
        each = self.each(inputs)
        counted = torch.where(self.taught.unsqueeze(-1), each, -torch.inf)
        clean = counted.logsumexp(-2) - self.taught.sum().to(each.dtype).log()
        if annotators is not None:
            who = over_units(annotators.clamp_min(0), each.shape[:-2]).unsqueeze(-1)
            each = each.gather(-2, who.expand(*who.shape[:-1], each.shape[-1]))
        return Prediction(clean, Categorical(each), clean.new_zeros(()))

    def each(self, inputs: Tensor) -> Tensor:
        """What every annotator's network says, log probabilities: ``(N, ...) -> (*U, R, K)``."""
        members = zip(self.networks, self.heads, strict=True)
        return torch.stack([log_softmax(head(network(inputs))) for network, head in members], -2)
