"""Co-teaching: small losses of one network teach the other (Han 2018)."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from truelabel.selection.selector import Selector, mean_over


class CoTeaching(Selector):
    r"""Each peer ranks the batch by its own loss; the smallest losses go to the *next* peer.

    .. math:: R = 1 - \tau \min(t / t_k, 1), \qquad
        \mathcal{B}_{m+1} = \text{the } \lfloor R N \rfloor \text{ examples with the smallest loss of peer } m

    N counts labelled examples, and at least one is kept. The loss is the mean over what is kept. With a single peer
    the network teaches itself.

    Differs from the paper: R falls with every step, not once an epoch; and the published code divides the mean over
    the set once more by its size, which is left out: inside a sum of terms it would change their balance.

    Args:
        rate: τ, the share of wrong labels, forgotten once the ramp is over.
        ramp: :math:`t_k`, the share of the training after which R has reached :math:`1 - \tau`; zero for no ramp.

    Shapes: as :class:`Selector`, any M.

    Reference: Eq. R(T) and Algorithm 1 of Han et al., Co-teaching, NeurIPS 2018.

    Example:
        >>> losses = torch.tensor([[0.1, 0.2, 3.0, 4.0], [4.0, 0.2, 3.0, 0.1]])
        >>> select = CoTeaching(rate=0.5, ramp=0.0)
        >>> select(losses, torch.zeros(2, 4), torch.ones(4, dtype=torch.bool), torch.tensor(0.0))
        tensor([[0., 2., 0., 2.],
                [2., 2., 0., 0.]])
    """

    def __init__(self, rate: float, ramp: float = 0.0) -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise ValueError(f"rate must lie in [0, 1), got {rate!r}")
        if not 0 <= ramp < math.inf:
            raise ValueError(f"ramp must be a share of the training, 0 or larger, got {ramp!r}")
        self.rate, self.ramp = rate, ramp

    def forward(self, losses: Tensor, predicted: Tensor, labelled: Tensor, progress: Tensor) -> Tensor:
        # A little up, because 0.7 of 10 examples are 7, which rounding must not make 6.
        keep = (self.kept_share(progress) * labelled.sum() + 1e-4).floor().clamp_min(1)
        last = torch.where(labelled, losses, math.inf)
        rank = last.argsort(dim=-1, stable=True).argsort(-1)
        small = (rank < keep) & labelled
        return mean_over(small.to(losses.dtype).roll(1, 0))

    def kept_share(self, progress: Tensor) -> Tensor:
        """R at this point of the training: ``() -> ()``."""
        ramped = (progress / self.ramp).clamp_max(1.0) if self.ramp else torch.ones_like(progress)
        return 1 - self.rate * ramped
