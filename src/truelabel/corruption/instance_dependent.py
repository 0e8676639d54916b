"""Instance-dependent label noise: what a label is mistaken for depends on the input (Xia 2020)."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.special import ndtr, ndtri

from truelabel.annotations import Annotations
from truelabel.corruption.symmetric import symmetric

_CHUNK = 2**22
"""Input values that are held as float64 at a time."""

# Normal draws are rounded to this fraction. Products with integers 0..255 and their sums are then exact in float64 (up
# to two million values an input), so the labels of an image depend neither on the chunks nor on the threads.
_GRID = 2.0**20


class InstanceDependent:
    r"""One label an example, wrong in a direction that its own input decides (part-dependent noise, Xia 2020).

    .. math::
        q_n &\sim \mathcal N(\tau, \sigma^2) \text{ truncated to } [0, 1], \qquad
        W_k \in \mathbb R^{S \times K}, \quad W_{ksj} \sim \mathcal N(0, 1) \\
        T(x_n)[y_n, j] &= q_n \, \mathrm{softmax}_{j \ne y_n}(x_n^\top W_{y_n})_j, \qquad T(x_n)[y_n, y_n] = 1 - q_n

    Here S is the number of values of an input. One W serves all examples of a call, so corrupt training and validation
    labels together. W, q and the labels all come from the generator of the call.

    Inputs are used raw, as the published noise does: uint8 images count as 0..255, floats as they are. This matters,
    because the scale of x is the sharpness of the softmax: with 0..255 almost all mistakes of an image are of one
    class. Note that the *rate* :math:`q_n` is drawn independently of :math:`x_n`; only the direction depends on it.

    Args:
        rate: τ in [0, 1]; the mean of q is :attr:`mean_rate`, a little more if the cut at 0 matters.
        classes: K.
        spread: σ.

    Attributes:
        mean_rate: :math:`E[q]`, the expected share of wrong labels.
        transition: ``(N, K)``, the row :math:`T(x_n)[y_n, :]` of every example of the last call.
        confusion: ``(1, K, K)``, the mean of these rows over the examples of each class. For a class without
            examples, and before the first call, it is the expected one: ``symmetric(K, mean_rate, kind="flip")``.

    Example:
        >>> noise = InstanceDependent(0.4, classes=3)
        >>> images = torch.randint(256, (5, 1, 4, 4), dtype=torch.uint8)
        >>> annotations = noise(torch.tensor([0, 1, 2, 1, 0]), images, torch.Generator().manual_seed(0))
        >>> annotations.size, noise.transition.shape, noise.confusion.shape
        (5, torch.Size([5, 3]), torch.Size([1, 3, 3]))
    """

    def __init__(self, rate: float, classes: int, spread: float = 0.1) -> None:
        if not 0 <= rate <= 1:
            raise ValueError(f"rate must lie in [0, 1], got {rate}")
        if not 0 < spread < math.inf:
            raise ValueError(f"spread must be positive, got {spread}")
        self.rate, self.classes, self.spread = rate, classes, spread
        # The normal of mean τ, cut to [0, 1], in standard units and as quantiles.
        cuts = torch.tensor([-rate / spread, (1 - rate) / spread], dtype=torch.double)
        self._quantiles = ndtr(cuts)
        densities = (-(cuts**2) / 2).exp() / math.sqrt(2 * math.pi)
        self.mean_rate = rate - spread * float(densities.diff() / self._quantiles.diff())
        self._expected = symmetric(classes, self.mean_rate, kind="flip")
        self.transition = torch.empty(0, classes, dtype=torch.double)
        self.confusion = self._expected.unsqueeze(0)

    def __call__(self, labels: Tensor, inputs: Tensor | None, generator: torch.Generator) -> Annotations:
        labels, flat = self._checked(labels, inputs)
        lots = torch.rand(2, len(labels), generator=generator, dtype=torch.double)
        low, high = self._quantiles
        rates = (self.rate + self.spread * ndtri(low + (high - low) * lots[0])).clamp(0, 1)
        self.transition = self._transition(labels, flat, rates, generator)
        self.confusion = self._class_means(labels).unsqueeze(0)
        # Rounding may leave the last cumulative sum just below one.
        observed = (lots[1].unsqueeze(-1) >= self.transition.cumsum(-1)).sum(-1).clamp_max(self.classes - 1)
        return Annotations.from_labels(observed.numpy(), classes=self.classes)

    def _transition(self, labels: Tensor, flat: Tensor, rates: Tensor, generator: torch.Generator) -> Tensor:
        transition = torch.empty(len(labels), self.classes, dtype=torch.double)
        width = flat.shape[1]
        for k in range(self.classes):
            # Drawn for a class without examples too: the noise of one class must not depend on who else is there.
            weights = torch.randn(width, self.classes, generator=generator, dtype=torch.double)
            weights = weights.mul_(_GRID).round_().div_(_GRID)
            for index in (labels == k).nonzero().squeeze(-1).split(max(1, _CHUNK // width)):
                scores = flat[index].double() @ weights
                finite = scores.isfinite().all(-1)
                if not bool(finite.all()):
                    raise ValueError(f"inputs hold NaN or infinity in example {int(index[~finite][0])}: remove it")
                scores[:, k] = -math.inf
                transition[index] = rates[index].unsqueeze(-1) * scores.softmax(-1)
        transition[torch.arange(len(labels)), labels] = 1 - rates
        return transition

    def _class_means(self, labels: Tensor) -> Tensor:
        counts = labels.bincount(minlength=self.classes).unsqueeze(-1)
        sums = torch.zeros_like(self._expected).index_add_(0, labels, self.transition)
        return torch.where(counts > 0, sums / counts.clamp_min(1), self._expected)

    def _checked(self, labels: Tensor, inputs: Tensor | None) -> tuple[Tensor, Tensor]:
        """Labels as indices, and inputs ``(N, S)``."""
        if (
            labels.dim() != 1
            or labels.is_floating_point()
            or bool((labels < 0).any())
            or bool((labels >= self.classes).any())
        ):
            raise ValueError(f"labels must be (N,) integers in 0..{self.classes - 1}")
        if inputs is None:
            raise ValueError("instance-dependent noise looks at the inputs, got None: pass inputs (N, ...)")
        if inputs.dim() < 2 or len(inputs) != len(labels) or not inputs.shape[1:].numel():
            raise ValueError(f"inputs must be ({len(labels)}, ...), one for each label, got {tuple(inputs.shape)}")
        return labels.long(), inputs.flatten(1)
