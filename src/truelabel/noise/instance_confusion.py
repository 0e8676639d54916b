"""A confusion matrix for every reader, image and pixel, from a second network (Zhang 2020)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.checks import check_between, check_whole
from truelabel.networks import Network
from truelabel.noise.annotator_confusion import START
from truelabel.noise.model import NoiseModel
from truelabel.noise.pixel_cells import FullPixelCells, LowRankPixelCells, PixelCells
from truelabel.precision import log_softmax
from truelabel.types import Likelihood, Prediction, mix

SPREAD = 0.01
"""Standard deviation of the weights that read matrices off features, at the start: all but the bias is small."""


class InstanceConfusion(NoiseModel):
    r"""Each reader says what they say through a matrix of their own at every pixel of every image.

    .. math::
        p(\tilde y^{(r)}_u \mid x) = \sum_y p(y_u \mid x)\, T^{(r)}_u(x)[y_u, \tilde y^{(r)}_u], \qquad
        T^{(r)}_u(x)[k, j] \propto \operatorname{softplus}\big(W^{(r)}_{kj} h_u(x) + b^{(r)}_{kj}\big)

    Eq. 2 to 4 of Zhang 2020, "Disentangling Human Error from the Ground Truth in Segmentation of Medical Images". The
    features h come from the network that also gives p(y|x), or from an ``encoder`` of their own on the inputs, through
    a ``trunk`` that all readers share; W and b are a reader's own. The penalty is the trace, which is *minimised*:

    .. math:: \frac{\lambda}{N} \sum_n \sum_{r \text{ labelled } n} \frac{1}{|U|} \sum_u
        \operatorname{tr} T^{(r)}_u(x_n)

    Only readers who labelled an image count, and all its pixels do, labelled or not. Weights start small and b such
    that every diagonal starts near ``start``. With a *negative* ``trace`` the penalty drives matrices to the identity:
    that is the warm-up of the paper, which the network needs to learn what readers have in common.

    Where one class is certain, only its row is identified by what is said; the other rows follow the trace.

    Cost and memory follow the labels given, reader by reader: the likelihood of a known label needs one column, its
    gradient is in closed form, and nothing but the numbers of the matrices and their gradient is ever held for all
    readers at once.

    Differs from the paper: log probabilities are scored once (the published code applies a softmax to probabilities);
    readers share all but the last layer (the published code has two blocks for each); a low ``rank`` keeps its
    diagonal in training and prediction alike, and has one number a class for it.

    Args:
        features: F.
        classes: K.
        annotators: R.
        trace: λ, the weight of the penalty; negative to maximise the trace.
        rank: of low-rank matrices, a diagonal and so many typical mistakes; None, or K and more, for full ones.
        trunk: from ``(*U, F)`` features to those that matrices are read off; none by default.
        encoder: a network on the inputs, if matrices are not to share the features of the class.
        start: value on the diagonals before training.

    Example:
        >>> model = InstanceConfusion(features=8, classes=2, annotators=3)
        >>> images, features = torch.zeros(2, 1, 4, 5), torch.zeros(2, 4, 5, 8)
        >>> prediction = model(images, features, torch.tensor([[0, 2], [1, -1]]))
        >>> prediction.noisy.at(torch.zeros(2, 4, 5, 2, dtype=torch.long)).shape
        torch.Size([2, 4, 5, 2])
        >>> model.matrices_at(images, features, torch.tensor([[0], [1]]))[0, 0, 0, 0].detach()
        tensor([[0.9560, 0.0440],
                [0.0440, 0.9560]])
    """

    chosen_by = "loss"

    def __init__(
        self,
        features: int,
        classes: int,
        annotators: int,
        *,
        trace: float = 0.01,
        rank: int | None = None,
        trunk: Network | None = None,
        encoder: Network | None = None,
        start: float = START,
    ) -> None:
        super().__init__()
        check_whole("annotators", annotators)
        if rank is not None:
            check_whole("rank", rank)
        check_between("start", start)
        self.trace, self.classes = trace, classes
        full = rank is None or rank >= classes
        self.pixels: PixelCells = FullPixelCells(classes) if full else LowRankPixelCells(classes, rank or 1)
        self.head = nn.Linear(features, classes)
        self.trunk, self.encoder = trunk, encoder
        width = next((part.features for part in (trunk, encoder) if part is not None), features)
        begin = self.pixels.cells.start(start)
        self.weight = nn.Parameter(SPREAD * torch.randn(annotators, len(begin), width))
        self.bias = nn.Parameter(begin.repeat(annotators, 1))

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        clean = log_softmax(self.head(features))
        said = SaidAtPixels(clean, self.pixels, self._raw(inputs, features, annotators))
        if not self.trace:
            return Prediction(clean, said, clean.new_zeros(()))
        return _Traced(clean, said, self.trace * (annotators >= 0).to(clean.dtype) / len(annotators))

    def matrices_at(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Tensor:
        matrices = self.pixels.matrices(self._raw(inputs, features, annotators))
        return matrices.view(*features.shape[:-1], *matrices.shape[2:])

    def noise_parameters(self) -> Iterable[nn.Parameter]:
        # They learn as fast as the network: faster, they would explain what is said before it is sure of anything.
        yield from (self.weight, self.bias)
        for part in (self.trunk, self.encoder):
            if part is not None:
                yield from part.parameters()

    def _raw(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Tensor:
        """Numbers of the matrices of every slot, in planes: ``(N, S, P, V)``."""
        seen = features if self.encoder is None else self.encoder(inputs)
        seen = seen if self.trunk is None else self.trunk(seen)
        flat = seen.reshape(len(seen), -1, seen.shape[-1]) if seen.dim() > 2 else seen.unsqueeze(1)
        n, slots = annotators.shape
        # The weights of the readers of each image, so that who did not label it costs nothing.
        who = annotators.clamp_min(0)
        weight = functional.embedding(who, self.weight.flatten(1)).view(n, -1, self.weight.shape[-1])
        bias = functional.embedding(who, self.bias).view(n, -1, 1)
        return torch.baddbmm(bias, weight, flat.mT).view(n, slots, -1, flat.shape[1])


class SaidAtPixels(Likelihood):
    r"""What each reader says at each unit: :math:`\log \sum_k p(k \mid x)\, T^{(r)}_u[k, \tilde y]`.

    Args:
        clean: ``(*U, K)``, log p(y|x).
        pixels: how numbers become matrices.
        raw: ``(N, S, P, V)``, the numbers of the matrices in planes.
    """

    def __init__(self, clean: Tensor, pixels: PixelCells, raw: Tensor) -> None:
        self.clean, self.pixels, self.raw = clean, pixels, raw
        self._traces: Tensor | None = None

    def at(self, labels: Tensor) -> Tensor:
        n, slots = self.raw.shape[:2]
        said = labels.movedim(-1, 1).reshape(n, slots, -1)
        planes = self.clean.reshape(n, -1, self.clean.shape[-1]).mT.contiguous()
        values, traces = self.pixels.likelihood(self.raw, planes, said)
        self._traces = traces if torch.is_grad_enabled() else None  # else the penalty would have no gradient
        return values.movedim(1, -1).view(labels.shape)

    def all(self) -> Tensor:
        matrices = self.pixels.matrices(self.raw)
        return mix(self.clean.unsqueeze(-2), matrices.view(*self.clean.shape[:-1], *matrices.shape[2:]))

    def traces(self) -> Tensor:
        """Mean traces over the units of an example, ``(N, S)``: a by-product of :meth:`at`, if that was called."""
        return self.pixels.traces(self.raw) if self._traces is None else self._traces


class _Traced(Prediction):
    """A prediction whose third field holds the weights ``(N, S)`` of the traces that its penalty is the sum of."""

    __slots__ = ()

    @property
    def penalty(self) -> Tensor:
        said = self.noisy
        assert isinstance(said, SaidAtPixels)
        return (self[2] * said.traces()).sum()
