"""A confusion matrix for every annotator, learned together with the classifier (Tanno 2019)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional

from truelabel.checks import check_amount, check_between, check_flag, check_whole
from truelabel.noise.confusion_cells import Cells, FullCells, LowRankCells, SaidByAnnotators, over_units
from truelabel.noise.model import NoiseModel
from truelabel.noise.transition import check_rows
from truelabel.precision import log_softmax
from truelabel.types import Prediction

START = 0.956
"""Where the diagonal starts, for any K: the value that the listing of Tanno 2019 gives for ten classes."""

MOST_CELLS = 10_000_000
"""From more cells than these on, low rank is the default."""

DEFAULT_RANK = 4
"""At most; so much less for few classes that a matrix has at most about half its numbers."""

REACH = 30.0
"""How far a free number should be able to travel in a training: three times from a diagonal of 0.956 to anywhere."""

REACH_OF_ONE = 10.0
"""The same for a matrix that is everybody's, which every label moves."""


class AnnotatorConfusion(NoiseModel):
    r"""Each annotator says what they say through a confusion matrix of their own.

    .. math::
        p(\tilde y^{(r)} \mid x) = \sum_y p(y \mid x)\, T^{(r)}[y, \tilde y^{(r)}], \qquad
        T^{(r)}[k, j] = \frac{\operatorname{softplus}(\rho^{(r)}_{kj})}{\sum_i \operatorname{softplus}(\rho^{(r)}_{ki})}

    Eq. 2 and 4 of Tanno 2019, "Learning From Noisy Labels By Regularized Estimation Of Annotator Confusion". Matrices
    start near the identity. The penalty is the trace, which is *minimised*: among all matrices that explain the labels
    it prefers those of the least skilled annotators, and these are the true ones (Theorem 1) if the mean matrix is
    dominated by its diagonal, column by column.

    **Sum or mean.** The paper's equation sums traces over annotators and losses over examples; its listing, to which
    the weight 0.01 belongs, takes the mean of traces over annotators and of losses over examples. Here the penalty is
    the mean of :math:`\operatorname{tr} T^{(r)}` over the *labels given* in the batch. That equals the listing when
    annotators are equally busy, and leaves those alone who said nothing in the batch.

    Cost follows the labels given: a known label needs one column of one matrix, and if there are more annotators than
    labels in a batch only theirs are looked at.

    Differs from the paper: the start is the same for any K (the listing's diagonal falls to 0.66 at K = 100), mixing is
    in log space instead of clipping probabilities. Three options go beyond it:

    - ``rank``: a diagonal and a few typical mistakes, :class:`~truelabel.noise.confusion_cells.LowRankCells`;
    - ``shrinkage``: a hierarchical prior, :math:`\rho^{(r)} = \rho + \delta^{(r)}` with
      :math:`\delta^{(r)} \sim N(0, 1/s)` for every number, so that who said little is like the group;
    - ``by_input``: :math:`\rho^{(r)}(x) = \rho^{(r)} + W f(x)`, mistakes that all make more often on some inputs.

    Args:
        features: F.
        classes: K.
        annotators: R; with 1, one matrix is everybody's.
        trace: λ, the weight of the penalty.
        rank: of the low-rank part; K or more means full. By default full up to ten million cells, then 4, or
            less for few classes.
        shrinkage: s, precision of the prior; 0 for none.
        by_input: let the input change the matrices.
        workload: ``(R,)``, labels of each annotator in training, over which the prior is spread; one by default.
        start: value on the diagonal before training.

    Example:
        >>> model = AnnotatorConfusion(features=8, classes=3, annotators=5)
        >>> prediction = model(torch.zeros(2, 8), torch.zeros(2, 8), torch.tensor([[0, 4], [2, -1]]))
        >>> prediction.noisy.at(torch.tensor([[0, 1], [2, -1]])).shape
        torch.Size([2, 2])
        >>> model.annotator_confusion()[0].diagonal()
        tensor([0.9560, 0.9560, 0.9560], grad_fn=<DiagonalBackward0>)
    """

    workload: Tensor
    chosen_by = "loss"

    def __init__(
        self,
        features: int,
        classes: int,
        annotators: int,
        *,
        trace: float = 0.01,
        rank: int | None = None,
        shrinkage: float = 0.0,
        by_input: bool = False,
        workload: Tensor | None = None,
        start: float = START,
    ) -> None:
        super().__init__()
        check_options(trace=trace, rank=rank, shrinkage=shrinkage, by_input=by_input)
        if annotators < 1:
            raise ValueError(f"annotators must be at least 1, got {annotators}")
        check_between("start", start)
        self.annotators, self.trace, self.shrinkage = annotators, trace, shrinkage
        if rank is None and annotators * classes**2 > MOST_CELLS:
            rank = default_rank(classes)
        self.cells: Cells = FullCells(classes) if rank is None or rank >= classes else LowRankCells(classes, rank)
        self.head = nn.Linear(features, classes)
        begin = self.cells.start(start)
        # With a prior the group has the start, and annotators are where it is.
        self.group = nn.Parameter(begin) if shrinkage else None
        self.rho = nn.Parameter((torch.zeros_like(begin) if shrinkage else begin).repeat(annotators, 1))
        self.shift = nn.Linear(features, self.cells.numbers, bias=False) if by_input else None
        if self.shift is not None:
            nn.init.zeros_(self.shift.weight)
        given = torch.ones(annotators) if workload is None else workload.clamp_min(1)
        if given.shape != (annotators,):
            raise ValueError(f"workload must be ({annotators},), got {tuple(given.shape)}")
        self.register_buffer("workload", given.to(self.rho.dtype))

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        clean = log_softmax(self.head(features))
        given = annotators >= 0
        who = self._row(annotators.clamp_min(0))
        raw, which = self._rows(features, who)
        parts = self.cells.parts(raw)
        penalty = self.trace * mean_over_given(self.cells.traces(parts), which, given) if self.trace else 0.0
        if self.group is not None:
            # Spread over the labels of an annotator, so that an epoch counts everybody's prior once.
            apart = functional.embedding(who, self.rho).square().sum(-1) / self.workload[who]
            penalty = penalty + 0.5 * self.shrinkage * torch.where(given, apart, 0.0).sum() / len(given)
        penalty = penalty if isinstance(penalty, Tensor) else clean.new_zeros(())
        return Prediction(clean, SaidByAnnotators(clean, self.cells, parts, which, who.shape[1]), penalty)

    def annotator_confusion(self) -> Tensor | None:
        """``(R, K, K)``, or ``(1, K, K)`` if it is everybody's; None if it depends on the input."""
        if self.shift is not None:
            return None
        return self.cells.matrices(self.cells.parts(self._with_group(self.rho)))

    def noise_parameters(self) -> Iterable[nn.Parameter]:
        yield self.rho
        if self.group is not None:
            yield self.group
        # The shift learns like the network: at the rate of the matrices it would explain the labels all by itself.

    def noise_reach(self) -> float:
        return REACH if self.annotators > 1 else REACH_OF_ONE

    def _row(self, annotators: Tensor) -> Tensor:
        return torch.zeros_like(annotators) if self.annotators == 1 else annotators

    def _rows(self, features: Tensor, who: Tensor) -> tuple[Tensor, Tensor | None]:
        """Numbers ``(M, P)`` of the matrices needed, and which belongs to each slot; None if each has its own."""
        units, slots = features.shape[:-1], who.shape[1]
        if self.shift is not None:
            own = self._with_group(functional.embedding(over_units(who, units), self.rho))
            return (own + self.shift(features).unsqueeze(-2)).flatten(0, -2), None
        if self.annotators <= who.numel():
            return self._with_group(self.rho), who
        rows = self._with_group(functional.embedding(who.flatten(), self.rho))
        each = None if len(units) == 1 else torch.arange(len(rows), device=rows.device).view(-1, slots)
        return rows, each

    def _with_group(self, own: Tensor) -> Tensor:
        return own if self.group is None else own + self.group


class FixedConfusion(NoiseModel):
    r"""Confusion matrices that are known: the oracle of Tanno 2019, or what experts were measured at before.

    .. math:: p(\tilde y^{(r)} \mid x) = \sum_y p(y \mid x)\, T^{(r)}[y, \tilde y^{(r)}]

    Args:
        features: F.
        classes: K.
        confusion: ``(R, K, K)``, ``[annotator, true, observed]`` with rows that sum to one.

    Example:
        >>> model = FixedConfusion(features=8, classes=2, confusion=torch.tensor([[[0.9, 0.1], [0.3, 0.7]]]))
        >>> prediction = model(torch.zeros(5, 8), torch.zeros(5, 8), torch.zeros(5, 1, dtype=torch.long))
        >>> torch.allclose(prediction.noisy.all().exp(), prediction.clean.exp().unsqueeze(1) @ model.matrices[0])
        True
    """

    matrices: Tensor
    chosen_by = "loss"

    def __init__(self, features: int, classes: int, confusion: Tensor) -> None:
        super().__init__()
        if confusion.dim() != 3 or confusion.shape[1:] != (classes, classes):
            raise ValueError(f"confusion must be (annotators, {classes}, {classes}), got {tuple(confusion.shape)}")
        check_rows("confusion", confusion)
        self.head = nn.Linear(features, classes)
        self.register_buffer("matrices", confusion.to(self.head.weight.dtype))
        self.cells = KnownCells(classes)

    def forward(self, inputs: Tensor, features: Tensor, annotators: Tensor) -> Prediction:
        clean = log_softmax(self.head(features))
        noisy = SaidByAnnotators(
            clean, self.cells, self.cells.parts(self.matrices.flatten(1)), annotators.clamp_min(0), annotators.shape[1]
        )
        return Prediction(clean, noisy, clean.new_zeros(()))

    def annotator_confusion(self) -> Tensor:
        """``(R, K, K)``, as given."""
        return self.matrices


class KnownCells(FullCells):
    """Matrices whose numbers are the probabilities themselves; what is impossible is taken for barely possible."""

    def positive(self, raw: Tensor) -> Tensor:
        return raw.clamp_min(torch.finfo(raw.dtype).tiny)


def mean_over_given(values: Tensor, which: Tensor | None, given: Tensor) -> Tensor:
    """Mean of ``values (M,)`` over the slots that are ``given (N, S)``: ``()``.

    They stand at ``which (N, S)``, or in the order of all units and slots if that is None.
    """
    if which is None:
        values, given = values.view(len(given), -1, given.shape[1]), given.unsqueeze(1)
    else:
        values = functional.embedding(which, values.unsqueeze(-1)).squeeze(-1)
    mean: Tensor = torch.where(given, values, 0.0).sum() / given.expand_as(values).sum().clamp_min(1)
    return mean


def default_rank(classes: int) -> int | None:
    """The rank of matrices that would be too many if they were full; None if a low rank would save nothing.

    Example:
        >>> [default_rank(classes) for classes in (3, 4, 10, 100)]
        [None, 1, 2, 4]
    """
    return min(DEFAULT_RANK, max(1, (classes - 1) // 4)) if classes > 3 else None


def check_options(*, trace: float, rank: int | None, shrinkage: float, by_input: bool) -> None:
    """Raise a one-line ValueError if these make no sense."""
    check_amount("trace", trace)
    check_amount("shrinkage", shrinkage)
    if rank is not None:
        check_whole("rank", rank)
    check_flag("by_input", by_input)
