"""Decoupling: networks learn where they disagree (Malach 2017)."""

from __future__ import annotations

import torch
from torch import Tensor

from truelabel.selection.selector import Selector, mean_over


class Disagreement(Selector):
    r"""Only examples that the peers would call by different names count, for all peers alike.

    .. math:: w_n \propto \frac{1}{|U|} \sum_u \mathbf{1}[\hat y^{(m)}_{nu} \ne \hat y^{(1)}_{nu} \text{ for some } m]

    In classification the sum has one term: disagreement or not. In segmentation it is the share of units in dispute.
    The loss is the mean over the examples in dispute, or over a tenth of the batch if they are fewer, as in the
    published code; without any, it is zero.

    Shapes: as :class:`Selector`, two or more peers.

    Reference: Algorithm 1 of Malach and Shalev-Shwartz, Decoupling "when to update" from "how to update", NeurIPS 2017.

    Example:
        >>> predicted = torch.tensor([[0, 1, 2, 1], [0, 2, 2, 0]])
        >>> Disagreement()(torch.ones(2, 4), predicted, torch.ones(4, dtype=torch.bool), torch.tensor(0.0))
        tensor([[0., 2., 0., 2.],
                [0., 2., 0., 2.]])
    """

    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        if len(predicted) < 2:
            raise ValueError("disagreement needs two peers or more, got one: train two learners")
        disputed = (predicted != predicted[:1]).any(0)
        share = disputed.to(losses.dtype).reshape(len(labelled), -1).mean(1)
        return mean_over(torch.where(labelled, share, 0.0).expand_as(losses), least=0.1)
